// kubelet/registrar.h: the registration socket: made, answered, taken away, and made again when the kubelet refused us.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/error.h"
#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

class Registrar {
 public:
  struct Options {
    std::string driver_name;
    std::filesystem::path socket;
    std::filesystem::path endpoint;  // The service socket.
    std::chrono::milliseconds refused_delay{5'000};
    std::function<void(const RegistrationState&)> on_change;
  };
  explicit Registrar(Options options);
  ~Registrar();

  Result<void> Open();
  void Close();
  RegistrationState state() const;

 private:
  class Service;
  class Socket;

  Result<void> OpenSocket();  // With lifecycle_ held.
  void CloseSocket();         // With lifecycle_ held.
  void CountAttempt();
  void Heard(bool registered, std::string error);
  void Change(Registration state, std::string error);  // With mutex_ held.
  void ScheduleReopen();                               // With mutex_ held.
  void Run(const std::stop_token& stop);
  void Tell(const RegistrationState& state) const;
  void Reopen();

  const Options options_;

  mutable std::mutex mutex_;  // Guards what follows, up to lifecycle_.
  std::condition_variable_any changed_;
  RegistrationState state_;
  std::deque<RegistrationState> untold_;  // Changes that on_change has not been told.
  std::chrono::milliseconds delay_;       // Before the next reopening.
  std::optional<std::chrono::steady_clock::time_point> reopen_at_;

  std::mutex lifecycle_;  // Guards socket_, and is held while it opens and closes. gRPC's threads never take it.
  std::unique_ptr<Socket> socket_;

  std::jthread worker_;  // Last: joins first.
};

}  // namespace tessera::kubelet
