#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <vector>

#include "base/text.h"

namespace tessera::net {
namespace {

using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;

Bio ReadBio(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// OpenSSL would ask on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

std::unexpected<Error> Unreadable(std::string_view what) {
  return BadConfig("TlsVerify", Format("{}: {}", what, TakeSslError()), "Give it in PEM form.");
}

Result<std::vector<Certificate>> ReadCertificates(const std::string& pem, std::string_view what) {
  const Bio bio = ReadBio(pem);
  std::vector<Certificate> certificates;
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (certificates.empty() || !at_end) return Unreadable(what);
  ERR_clear_error();
  return certificates;
}

Result<void> TrustOnly(SSL_CTX& context, const std::string& ca_pem) {
  TESSERA_ASSIGN(const std::vector<Certificate> authorities, ReadCertificates(ca_pem, "the CA certificate"));
  X509_STORE* store = SSL_CTX_get_cert_store(&context);
  for (const Certificate& authority : authorities) X509_STORE_add_cert(store, authority.get());
  // A cluster's bundle may hold an intermediate without its root. Go's clients take any certificate in it as an anchor.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

Result<void> UseIdentity(SSL_CTX& context, const TlsIdentity& identity) {
  if (identity.client_certificate_pem.empty() != identity.client_key_pem.empty()) {
    return BadConfig("TlsVerify", "a client certificate and its key are needed together");
  }
  if (identity.client_key_pem.empty()) return {};
  TESSERA_ASSIGN(const std::vector<Certificate> chain,
                 ReadCertificates(identity.client_certificate_pem, "the client certificate"));
  SSL_CTX_use_certificate(&context, chain.front().get());
  for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(&context, chain[i].get());
  const Bio bio = ReadBio(identity.client_key_pem);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Unreadable("the client key");
  if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1) return Unreadable("the client certificate and its key");
  return {};
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

// The names and addresses a certificate is for, at most eight.
std::string NamesOf(X509& certificate) {
  const Names names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()) && found.size() < 8; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const ASN1_STRING* value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const auto* bytes = ASN1_STRING_get0_data(value);
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
    if (name->type == GEN_DNS) {
      found.push_back(Quote(Clip({reinterpret_cast<const char*>(bytes), size}, 80)));
    } else if (std::array<char, INET6_ADDRSTRLEN> text{}; size == 4 || size == 16) {
      found.emplace_back(::inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text.data(), text.size()));
    }
  }
  return found.empty() ? "no name" : Join(found, ", ");
}

// OpenSSL keeps no certificate that it refused, so the names for the message are taken while it looks at it.
int NoteNames(int accepted, X509_STORE_CTX* store) {
  const int error = X509_STORE_CTX_get_error(store);
  if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    *static_cast<std::string*>(SSL_get_app_data(ssl)) = NamesOf(*X509_STORE_CTX_get0_cert(store));
  }
  return accepted;
}

}  // namespace

std::string TakeSslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown TLS error";
}

Result<SslContext> MakeClientContext(const TlsIdentity& identity) {
  SslContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return BadConfig("TlsFailed", "OpenSSL cannot be set up: " + TakeSslError());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, NoteNames);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Connections are kept, so sessions need not be.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  // One recv() a record instead of one for its head and one for the rest.
  SSL_CTX_set_read_ahead(context.get(), 1);
  TESSERA_TRY(TrustOnly(*context, identity.ca_pem));
  TESSERA_TRY(UseIdentity(*context, identity));
  return context;
}

Result<SslSession> MakeClientSession(SSL_CTX& context, const std::string& server_name, std::string& peer_names) {
  SslSession session(SSL_new(&context));
  if (session == nullptr) return Transient("TlsFailed", "OpenSSL cannot be set up: " + TakeSslError());
  SSL_set_app_data(session.get(), &peer_names);
  X509_VERIFY_PARAM* rules = SSL_get0_param(session.get());
  bool set = false;
  if (IsAddress(server_name)) {
    set = X509_VERIFY_PARAM_set1_ip_asc(rules, server_name.c_str()) == 1;
  } else {
    // The subject's common name counts for nothing, as in Go. SNI is for names only (RFC 6066, section 3).
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    set = X509_VERIFY_PARAM_set1_host(rules, server_name.data(), server_name.size()) == 1 &&
          SSL_set_tlsext_host_name(session.get(), server_name.c_str()) == 1;
  }
  if (!set) return BadConfig("TlsVerify", Format("{} is no server name: {}", Quote(server_name), TakeSslError()));
  return session;
}

Error HandshakeError(const SSL& session, const std::string& doing) {
  const long verdict = SSL_get_verify_result(&session);
  if (verdict == X509_V_OK) return {ErrorKind::kTransient, "TlsFailed", Format("{}: {}", doing, TakeSslError())};
  ERR_clear_error();
  return {ErrorKind::kPermanentConfig, "TlsVerify",
          Format("{}: the server's certificate was refused: {}", doing, X509_verify_cert_error_string(verdict)),
          "Check the CA certificate and the server's address."};
}

}  // namespace tessera::net
