// net/tls.h: the part of OpenSSL that we use, owned and translated. Internal to net/.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "net/http_client.h"

namespace tessera::net {

template <auto Fn>
struct Deleter {
  void operator()(auto* object) const noexcept { Fn(object); }
};
using SslContext = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using SslSession = std::unique_ptr<SSL, Deleter<SSL_free>>;

// A context that trusts `identity.ca_pem` and nothing else. Fails on PEM it cannot read, or a key that does not fit.
Result<SslContext> MakeClientContext(const TlsIdentity& identity);

// A client's session that insists on a certificate for `server_name`: a name, or an address among the IP SANs. Until the
// handshake is over, `peer_names` receives what a certificate that is for somebody else is for.
Result<SslSession> MakeClientSession(SSL_CTX& context, const std::string& server_name, std::string& peer_names);

// The oldest error in this thread's queue as text ("wrong version number"), and the queue emptied.
std::string TakeSslError();

// Why a handshake failed: "TlsVerify" with OpenSSL's reason, or "TlsFailed".
Error HandshakeError(const SSL& session, const std::string& doing);

}  // namespace tessera::net
