#include "tests/standin/tls.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"

namespace tessera::standin {
namespace {

using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Deleter<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

std::unexpected<Error> OpenSslError(std::string_view doing) {
  std::array<char, 200> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return BadConfig("StandinTls", Format("{}: {}", doing, text.data()));
}

// ---- Certificates.

std::string Drain(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

Bio Source(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Identity ToPem(X509* cert, EVP_PKEY* key) {
  const Bio cert_bio(BIO_new(BIO_s_mem()));
  const Bio key_bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(cert_bio.get(), cert);
  PEM_write_bio_PrivateKey(key_bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return {Drain(cert_bio.get()), Drain(key_bio.get())};
}

Cert ReadCertificate(std::string_view pem) {
  return Cert(PEM_read_bio_X509(Source(pem).get(), nullptr, nullptr, nullptr));
}
Key ReadKey(std::string_view pem) { return Key(PEM_read_bio_PrivateKey(Source(pem).get(), nullptr, nullptr, nullptr)); }

bool AddExtension(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension != nullptr && X509_add_ext(cert, extension.get(), -1) == 1;
}

struct Wanted {
  std::string common_name;
  const char* basic_constraints;
  const char* usage;
  const char* extended_usage = nullptr;
  const char* names = nullptr;  // The subject's alternative names.
};

// Signed by `issuer`, or by itself when that is null.
Result<Identity> Issue(const Wanted& wanted, const Identity* issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const Cert cert(X509_new());
  if (!key || !cert) return OpenSslError("making a key");
  const Cert issuer_cert = issuer ? ReadCertificate(issuer->certificate_pem) : nullptr;
  const Key issuer_key = issuer ? ReadKey(issuer->key_pem) : nullptr;
  X509* signer = issuer_cert ? issuer_cert.get() : cert.get();

  X509_set_version(cert.get(), X509_VERSION_3);
  std::uint32_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert.get()), std::uint64_t{serial} + 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 30L * 24 * 3600);
  X509_set_pubkey(cert.get(), key.get());
  X509_NAME* name = X509_get_subject_name(cert.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wanted.common_name.c_str()), -1, -1, 0);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(signer));

  const bool extended =
      AddExtension(cert.get(), signer, NID_basic_constraints, wanted.basic_constraints) &&
      AddExtension(cert.get(), signer, NID_key_usage, wanted.usage) &&
      AddExtension(cert.get(), signer, NID_subject_key_identifier, "hash") &&
      AddExtension(cert.get(), signer, NID_authority_key_identifier, "keyid:always") &&
      (!wanted.extended_usage || AddExtension(cert.get(), signer, NID_ext_key_usage, wanted.extended_usage)) &&
      (!wanted.names || AddExtension(cert.get(), signer, NID_subject_alt_name, wanted.names));
  if (!extended) return OpenSslError("extending a certificate");
  if (X509_sign(cert.get(), issuer_key ? issuer_key.get() : key.get(), EVP_sha256()) == 0) {
    return OpenSslError("signing a certificate");
  }
  return ToPem(cert.get(), key.get());
}

// ---- Sockets.

// OpenSSL's own socket BIO raises SIGPIPE when the peer is gone; this one does not.
int SocketWrite(BIO* bio, const char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  ssize_t written = 0;
  do {
    written = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  } while (written < 0 && errno == EINTR);
  return static_cast<int>(written);
}

int SocketRead(BIO* bio, char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  ssize_t got = 0;
  do {
    got = ::recv(fd, data, static_cast<std::size_t>(size), 0);
  } while (got < 0 && errno == EINTR);
  return static_cast<int>(got);
}

long SocketControl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* SocketMethod() {
  static const std::unique_ptr<BIO_METHOD, Deleter<BIO_meth_free>> method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tessera-standin-socket");
    BIO_meth_set_write(made, SocketWrite);
    BIO_meth_set_read(made, SocketRead);
    BIO_meth_set_ctrl(made, SocketControl);
    return std::unique_ptr<BIO_METHOD, Deleter<BIO_meth_free>>(made);
  }();
  return method.get();
}

Result<void> UseIdentity(SSL_CTX* context, const Identity& identity) {
  const Cert cert = ReadCertificate(identity.certificate_pem);
  const Key key = ReadKey(identity.key_pem);
  if (!cert || !key || SSL_CTX_use_certificate(context, cert.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return OpenSslError("using a certificate");
  }
  return {};
}

Result<void> Trust(SSL_CTX* context, const std::string& ca_pem) {
  const Cert ca = ReadCertificate(ca_pem);
  if (!ca || X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get()) != 1) return OpenSslError("trusting a CA");
  return {};
}

}  // namespace

Result<Authority> Authority::Create() {
  TESSERA_ASSIGN(Identity ca, Issue({.common_name = "standin-ca",
                                     .basic_constraints = "critical,CA:TRUE",
                                     .usage = "critical,keyCertSign,cRLSign"},
                                    nullptr));
  return Authority(std::move(ca));
}

Result<Identity> Authority::IssueServer() const {
  return Issue({.common_name = "kube-apiserver",
                .basic_constraints = "critical,CA:FALSE",
                .usage = "critical,digitalSignature",
                .extended_usage = "serverAuth",
                .names = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"},
               &ca_);
}

Result<Identity> Authority::IssueClient(std::string_view common_name) const {
  return Issue({.common_name = std::string(common_name),
                .basic_constraints = "critical,CA:FALSE",
                .usage = "critical,digitalSignature",
                .extended_usage = "clientAuth"},
               &ca_);
}

Result<SslContext> ServerContext(const Identity& identity, const std::string& ca_pem, ClientCertificates clients) {
  SslContext context(SSL_CTX_new(TLS_server_method()));
  if (!context) return OpenSslError("making a server context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Session tickets would only cost two writes a handshake.
  SSL_CTX_set_num_tickets(context.get(), 0);
  TESSERA_TRY(UseIdentity(context.get(), identity));
  if (clients != ClientCertificates::kIgnored) {
    TESSERA_TRY(Trust(context.get(), ca_pem));
    const int required = clients == ClientCertificates::kRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | required, nullptr);
  }
  return context;
}

Result<SslContext> ClientContext(const std::string& ca_pem, const Identity* identity) {
  SslContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return OpenSslError("making a client context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  TESSERA_TRY(Trust(context.get(), ca_pem));
  if (identity) TESSERA_TRY(UseIdentity(context.get(), *identity));
  return context;
}

TlsStream::TlsStream(UniqueFd socket, SSL_CTX& context) : socket_(std::move(socket)), session_(SSL_new(&context)) {
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  BIO* bio = BIO_new(SocketMethod());
  if (!session_ || bio == nullptr) Abort("OpenSSL has no memory for a session");
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket_.get())));
  BIO_set_init(bio, 1);
  SSL_set_bio(session_.get(), bio, bio);
}

TlsStream::~TlsStream() = default;

bool TlsStream::Accept() {
  ERR_clear_error();
  return SSL_accept(session_.get()) == 1;
}

bool TlsStream::Connect() {
  ERR_clear_error();
  X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), "127.0.0.1");
  return SSL_connect(session_.get()) == 1;
}

std::size_t TlsStream::Read(char* data, std::size_t size) {
  ERR_clear_error();
  std::size_t got = 0;
  return SSL_read_ex(session_.get(), data, size, &got) == 1 ? got : 0;
}

bool TlsStream::Write(std::string_view data) {
  ERR_clear_error();
  std::size_t written = 0;
  return data.empty() || SSL_write_ex(session_.get(), data.data(), data.size(), &written) == 1;
}

void TlsStream::Close() {
  ERR_clear_error();
  SSL_shutdown(session_.get());
  Break();
}

void TlsStream::Break() { ::shutdown(socket_.get(), SHUT_RDWR); }

bool TlsStream::peer_has_certificate() const { return SSL_get0_peer_certificate(session_.get()) != nullptr; }

bool TlsStream::PeerIsGone() const {
  pollfd wait{socket_.get(), POLLRDHUP, 0};
  return ::poll(&wait, 1, 0) > 0 && (wait.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

Result<UniqueFd> ConnectLoopback(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return FromErrno(errno, "StandinConnect", Format("connecting to 127.0.0.1:{}", port));
  }
  return socket;
}

}  // namespace tessera::standin
