#include "net/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace tessera::net {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

timespec Until(Deadline deadline) {
  const auto left = std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(deadline - steady_clock::now()));
  // A deadline of "never" must not overflow time_t on the way.
  const auto bounded = std::min<nanoseconds>(left, std::chrono::hours(24));
  return {.tv_sec = bounded.count() / 1'000'000'000, .tv_nsec = bounded.count() % 1'000'000'000};
}

bool WouldBlock(int number) { return number == EAGAIN || number == EWOULDBLOCK || number == EINTR; }

}  // namespace

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::Open(std::span<const Address> addresses, const std::string& name,
                                                     SSL_CTX* context, const std::string& server_name,
                                                     const Patience& patience) {
  Result<void> connected = Transient("ConnectFailed", Format("connecting to {}: it has no address", name));
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    std::unique_ptr<Connection> connection(new Connection(name));
    const auto now = steady_clock::now();
    const auto share = (patience.deadline - now) / static_cast<std::int64_t>(addresses.size() - i);
    connected = connection->Connect(addresses[i], {now + share, patience.stop});
    if (connected.has_value()) {
      if (context != nullptr) TESSERA_TRY(connection->Handshake(*context, server_name, patience));
      return connection;
    }
    if (connected.error().code() == "HttpCancelled") break;
  }
  return std::unexpected(std::move(connected).error());
}

Result<void> Connection::Connect(const Address& address, const Patience& patience) {
  const std::string doing = "connecting to " + name_;
  wake_ = UniqueFd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  socket_ = UniqueFd{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!wake_ || !socket_) return FromErrno(errno, "ConnectFailed", doing);
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  int error = ::connect(socket_.get(), address.get(), address.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    TESSERA_TRY(Wait(POLLOUT, "connecting to", patience));
    socklen_t size = sizeof(error);
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return Transient("ConnectFailed", Format("{}: {}", doing, std::strerror(error)));
  return {};
}

Result<void> Connection::Handshake(SSL_CTX& context, const std::string& server_name, const Patience& patience) {
  constexpr std::string_view kDoing = "TLS handshake with";
  std::string peer_names;
  TESSERA_ASSIGN(ssl_, MakeClientSession(context, server_name, peer_names));
  BIO* bio = BIO_new(SocketMethod());
  if (bio == nullptr) return Transient("TlsFailed", "OpenSSL cannot be set up: " + TakeSslError());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(ssl_.get());
    if (result == 1) return {};
    const int number = errno;
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        TESSERA_TRY(Wait(POLLIN, kDoing, patience));
        break;
      case SSL_ERROR_WANT_WRITE:
        TESSERA_TRY(Wait(POLLOUT, kDoing, patience));
        break;
      case SSL_ERROR_SSL: {
        const std::string wanted = peer_names.empty() ? "" : Format(" ({} wanted, {} named)", server_name, peer_names);
        return std::unexpected(HandshakeError(*ssl_, Format("{} {}{}", kDoing, name_, wanted)));
      }
      default:
        return Transient("TlsFailed", Broken(number, kDoing).message());
    }
  }
}

Result<void> Connection::Write(std::string_view data, const Patience& patience) {
  constexpr std::string_view kDoing = "sending to";
  while (!data.empty()) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int put = SSL_write(ssl_.get(), data.data(), static_cast<int>(std::min<std::size_t>(data.size(), 1 << 30)));
      if (put > 0) {
        data.remove_prefix(static_cast<std::size_t>(put));
      } else {
        TESSERA_TRY(WaitForTls(put, kDoing, patience));
      }
    } else if (const ssize_t put = Send(data.data(), data.size()); put >= 0) {
      data.remove_prefix(static_cast<std::size_t>(put));
    } else if (!WouldBlock(errno)) {
      return std::unexpected(Broken(errno, kDoing));
    } else {
      TESSERA_TRY(Wait(POLLOUT, kDoing, patience));
    }
  }
  return {};
}

Result<std::size_t> Connection::Read(std::span<char> into, const Patience& patience) {
  constexpr std::string_view kDoing = "reading from";
  // An answer is never there at once: waiting first saves a receive that finds nothing.
  if (drained_ && (ssl_ == nullptr || SSL_has_pending(ssl_.get()) == 0)) TESSERA_TRY(Wait(POLLIN, kDoing, patience));
  for (;;) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int got = SSL_read(ssl_.get(), into.data(), static_cast<int>(std::min<std::size_t>(into.size(), 1 << 30)));
      if (got > 0) return static_cast<std::size_t>(got);
      if (SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN) return 0;
      TESSERA_TRY(WaitForTls(got, kDoing, patience));
      continue;
    }
    const ssize_t got = Receive(into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (!WouldBlock(errno)) return std::unexpected(Broken(errno, kDoing));
    TESSERA_TRY(Wait(POLLIN, kDoing, patience));
  }
}

bool Connection::HasEnded() const {
  char byte = 0;
  return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || !WouldBlock(errno);
}

Result<void> Connection::Wait(short events, std::string_view doing, const Patience& patience) const {
  const std::stop_callback wake(patience.stop, [this] { ::eventfd_write(wake_.get(), 1); });
  std::array<pollfd, 2> fds{pollfd{socket_.get(), events, 0}, pollfd{wake_.get(), POLLIN, 0}};
  for (;;) {
    const timespec left = Until(patience.deadline);
    const int ready = ::ppoll(fds.data(), patience.stop.stop_possible() ? 2 : 1, &left, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return std::unexpected(Broken(errno, doing));
    if (patience.stop.stop_requested()) return Transient("HttpCancelled", Format("{} {}: cancelled", doing, name_));
    if (ready > 0) return {};
    if (steady_clock::now() < patience.deadline) continue;
    return Transient("HttpTimeout", Format("{} {}: no answer in time", doing, name_));
  }
}

Result<void> Connection::WaitForTls(int result, std::string_view doing, const Patience& patience) {
  const int number = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Wait(POLLIN, doing, patience);
    case SSL_ERROR_WANT_WRITE:
      return Wait(POLLOUT, doing, patience);
    case SSL_ERROR_SSL:
      // A server that refuses our certificate under TLS 1.3 says so here, after the handshake.
      return Transient("TlsFailed", Format("{} {}: {}", doing, name_, TakeSslError()));
    default:
      return std::unexpected(Broken(number, doing));
  }
}

ssize_t Connection::Receive(char* into, std::size_t size) {
  const ssize_t got = ::recv(socket_.get(), into, size, 0);
  drained_ = got < 0 || static_cast<std::size_t>(got) < size;
  if (got == 0) errno = 0;
  return got;
}

ssize_t Connection::Send(const char* data, std::size_t size) const {
  return ::send(socket_.get(), data, size, MSG_NOSIGNAL);
}

Error Connection::Broken(int number, std::string_view doing) const {
  const char* reason = number == 0 ? "the connection was closed" : std::strerror(number);
  return {ErrorKind::kTransient, "HttpClosed", Format("{} {}: {}", doing, name_, reason)};
}

// OpenSSL's own socket BIO writes with write(), which raises SIGPIPE.
BIO_METHOD* Connection::SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, [](BIO* bio, const char* data, int size) {
      BIO_clear_retry_flags(bio);
      const ssize_t put = static_cast<Connection*>(BIO_get_data(bio))->Send(data, static_cast<std::size_t>(size));
      if (put < 0 && WouldBlock(errno)) BIO_set_retry_write(bio);
      return static_cast<int>(put);
    });
    BIO_meth_set_read(made, [](BIO* bio, char* into, int size) {
      BIO_clear_retry_flags(bio);
      const ssize_t got = static_cast<Connection*>(BIO_get_data(bio))->Receive(into, static_cast<std::size_t>(size));
      if (got < 0 && WouldBlock(errno)) BIO_set_retry_read(bio);
      return static_cast<int>(got);
    });
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }();
  return method;
}

}  // namespace tessera::net
