#include "net/test_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/text.h"

namespace tessera::net {
namespace {

using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;

void Must(bool holds, std::string_view what) {
  if (!holds) Abort(Format("test peer: {}", what));
}

template <class Write>
std::string ToPem(Write write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  write(bio.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Bio FromText(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }
Key ReadKey(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(FromText(pem).get(), nullptr, nullptr, nullptr));
}
Certificate ReadCertificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(FromText(pem).get(), nullptr, nullptr, nullptr));
}

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  Must(extension != nullptr, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::size_t ContentLength(std::string_view head) {
  for (const std::string_view line : Split(head, '\n')) {
    const auto field = Cut(Trim(line), ": ");
    if (field && Lower(field->first) == "content-length") return ParseNumber<std::size_t>(field->second).value_or(0);
  }
  return 0;
}

SslContext ServerContext(const TestCertificate& identity, const std::string& client_ca_pem) {
  SslContext context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_use_certificate(context.get(), ReadCertificate(identity.certificate_pem).get());
  Must(SSL_CTX_use_PrivateKey(context.get(), ReadKey(identity.key_pem).get()) == 1, "key");
  if (!client_ca_pem.empty()) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ReadCertificate(client_ca_pem).get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

TestCertificate MakeCertificate(const CertificateOptions& options, const TestCertificate* issuer) {
  static std::atomic<long> serial = 1;
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -30L * 86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), options.days_left * 86400L);
  X509_set_pubkey(certificate.get(), key.get());
  const std::string common_name = options.authority ? Format("authority {}", serial.load()) : "localhost";
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  if (options.authority) {
    AddExtension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    AddExtension(certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  } else if (!options.names.empty()) {
    AddExtension(certificate.get(), NID_subject_alt_name, options.names);
  }
  const Certificate signer = issuer != nullptr ? ReadCertificate(issuer->certificate_pem) : nullptr;
  const Key signing_key = issuer != nullptr ? ReadKey(issuer->key_pem) : nullptr;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer ? signer.get() : certificate.get()));
  Must(X509_sign(certificate.get(), signing_key ? signing_key.get() : key.get(), EVP_sha256()) > 0, "signing");
  return {ToPem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate.get()); }),
          ToPem([&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); })};
}

const TestCertificate& TestAuthority() {
  static const TestCertificate authority = MakeCertificate({.authority = true});
  return authority;
}

const TestCertificate& TestServerCertificate() {
  static const TestCertificate certificate = MakeCertificate({}, &TestAuthority());
  return certificate;
}

std::ptrdiff_t PeerConnection::Receive(char* into, std::size_t size) {
  return ssl_ != nullptr ? SSL_read(ssl_.get(), into, static_cast<int>(size)) : ::recv(socket_.get(), into, size, 0);
}

std::optional<std::string> PeerConnection::ReadRequest() {
  for (;;) {
    const auto parts = Cut(buffer_, "\r\n\r\n");
    if (parts) {
      const std::size_t whole = parts->first.size() + 4 + ContentLength(parts->first);
      if (buffer_.size() >= whole) {
        std::string request = buffer_.substr(0, whole);
        buffer_.erase(0, whole);
        return request;
      }
    }
    std::array<char, 4096> piece{};
    const std::ptrdiff_t got = Receive(piece.data(), piece.size());
    if (got <= 0) return std::nullopt;
    buffer_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void PeerConnection::Send(std::string_view data) {
  if (ssl_ != nullptr) {
    SSL_write(ssl_.get(), data.data(), static_cast<int>(data.size()));
    return;
  }
  (void)WriteAll(socket_.get(), data);  // The client may have gone; the test sees that on its side.
}

void PeerConnection::Respond(std::string_view body, int status, std::string_view headers) {
  Send(Format("HTTP/1.1 {} Whatever\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers, body));
}

void PeerConnection::Chunk(std::string_view data) { Send(Format("{:x}\r\n{}\r\n", data.size(), data)); }

void PeerConnection::WaitForEnd() {
  std::array<char, 4096> piece{};
  while (Receive(piece.data(), piece.size()) > 0) {
  }
}

void PeerConnection::Drain() {
  std::array<char, 4096> piece{};
  ::shutdown(socket_.get(), SHUT_WR);
  while (::recv(socket_.get(), piece.data(), piece.size(), 0) > 0) {
  }
}

void PeerConnection::Shutdown() { SSL_shutdown(ssl_.get()); }

void PeerConnection::Reset() {
  const linger abort{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
}

TestPeer::TestPeer(Script script, const TestCertificate& certificate, const std::string& client_ca_pem)
    : TestPeer(std::move(script), ServerContext(certificate, client_ca_pem)) {}

TestPeer::TestPeer(Script script, SslContext context) : script_(std::move(script)), context_(std::move(context)) {
  ::signal(SIGPIPE, SIG_IGN);  // OpenSSL's socket BIO, which only this peer uses, writes with write().
  listener_ = UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  Must(::bind(listener_.get(), generic, size) == 0 && ::listen(listener_.get(), 64) == 0, "listen");
  ::getsockname(listener_.get(), generic, &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { Run(); });
}

TestPeer::~TestPeer() {
  closing_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  sessions_.clear();
}

void TestPeer::Run() {
  for (;;) {
    UniqueFd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!socket || closing_) return;
    const int number = accepted_++;
    const std::lock_guard lock(mutex_);
    open_.push_back(socket.get());
    sessions_.emplace_back([this, number, owned = std::move(socket)]() mutable { Serve(std::move(owned), number); });
  }
}

void TestPeer::Serve(UniqueFd socket, int number) {
  const int fd = socket.get();
  SslSession ssl;
  bool ready = true;
  if (context_ != nullptr) {
    ssl.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl.get(), fd);
    ready = SSL_accept(ssl.get()) == 1;
  }
  {
    PeerConnection connection(std::move(socket), std::move(ssl), number);
    if (ready) {
      script_(connection);
    } else {
      connection.Drain();  // Closing with bytes unread would reset the connection, and the alert would be lost.
    }
    const std::lock_guard lock(mutex_);  // Before it closes, so that nobody shuts down a number that is used again.
    std::erase(open_, fd);
  }
  ++closed_;
  closed_.notify_all();
}

void TestPeer::WaitUntilClosed(int connections) const {
  for (int now = closed_; now < connections; now = closed_) closed_.wait(now);
}

}  // namespace tessera::net
