#include "tests/standin/serve.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "base/text.h"

namespace tessera::standin {
namespace {

// Answers the whole lines of `buffer` and takes them out.
void AnswerLines(std::string& buffer, const std::function<std::string(std::string_view)>& answer) {
  for (std::size_t end = 0; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1)) {
    const std::string_view line = Trim(std::string_view(buffer).substr(0, end));
    if (!line.empty()) Say(answer(line));
  }
}

}  // namespace

UniqueFd EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
}

void Say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void ServeLines(int signals, const std::function<std::string(std::string_view)>& answer) {
  std::string buffer;
  std::array<pollfd, 2> waits{{{signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  while (true) {
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    if (waits[1].revents == 0) continue;
    std::array<char, 4096> piece;
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got <= 0) {
      waits[1].fd = -1;  // Nobody will ask any more.
    } else {
      buffer.append(piece.data(), static_cast<std::size_t>(got));
      AnswerLines(buffer, answer);
    }
  }
}

}  // namespace tessera::standin
