#include "driver/trouble.h"

#include "base/log.h"

namespace tessera::driver {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSayAgain{60'000};

}  // namespace

void Trouble::Say(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    const auto now = steady_clock::now();
    const auto [said, is_new] = said_.try_emplace(std::string(error.code()), now);
    if (!is_new && now - said->second < kSayAgain) return;
    said->second = now;
  }
  log::Failure(error, "Waiting");
  events_.Post(NodeTarget(node_name_), EventType::kWarning, error.code(), error.Text());
}

void Trouble::Block(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    blocking_ = error;
  }
  Say(error);
}

void Trouble::Clear() {
  const std::lock_guard lock(mutex_);
  blocking_.reset();
  said_.clear();
}

std::optional<Error> Trouble::blocking() const {
  const std::lock_guard lock(mutex_);
  return blocking_;
}

}  // namespace tessera::driver
