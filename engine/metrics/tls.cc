#include "tls.h"

#include <memory>

#include <fmt/core.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

namespace rpcrdma::metrics {

using fabric::Errc;
using fabric::Expected;

namespace {

gnutls_datum_t datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned>(text.size())};
}

tl::unexpected<fabric::Error> refused(const char* what, int error) {
  return fabric::fail(Errc::kSystem, fmt::format("{}: {}", what, ::gnutls_strerror(error)));
}

// libmicrohttpd does not say what is wrong with a certificate.
Expected<void> check(const WebConfig::Tls& tls) {
  gnutls_certificate_credentials_t made = nullptr;
  if (const int e = ::gnutls_certificate_allocate_credentials(&made); e < 0) {
    return refused("TLS", e);
  }
  const std::unique_ptr<std::remove_pointer_t<gnutls_certificate_credentials_t>,
                        void (*)(gnutls_certificate_credentials_t)>
      credentials(made, ::gnutls_certificate_free_credentials);
  const gnutls_datum_t certificate = datum(tls.certificate), key = datum(tls.key);
  if (const int e =
          ::gnutls_certificate_set_x509_key_mem(made, &certificate, &key, GNUTLS_X509_FMT_PEM);
      e < 0) {
    return refused("certificate and key", e);
  }
  if (tls.client_ca.empty()) return {};
  const gnutls_datum_t trusted = datum(tls.client_ca);
  const int found = ::gnutls_certificate_set_x509_trust_mem(made, &trusted, GNUTLS_X509_FMT_PEM);
  if (found < 0) return refused("client_ca_file", found);
  if (found == 0) return fabric::fail(Errc::kSystem, "client_ca_file: no certificate");
  return {};
}

// Called by GnuTLS in the handshake, from C code. Whether a certificate has to come at all, GnuTLS
// checks itself.
int verify(gnutls_session_t session) {
  unsigned count = 0;
  if (::gnutls_certificate_get_peers(session, &count) == nullptr || count == 0) return 0;
  std::string purpose = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st wanted{};
  wanted.type = GNUTLS_DT_KEY_PURPOSE_OID;
  wanted.data = reinterpret_cast<unsigned char*>(purpose.data());
  unsigned status = 0;
  const int error = ::gnutls_certificate_verify_peers(session, &wanted, 1, &status);
  return error < 0 || status != 0 ? GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR : 0;
}

}  // namespace

Expected<TlsOptions> TlsOptions::create(const WebConfig::Tls& tls) {
  if (const auto checked = check(tls); !checked) return tl::unexpected(checked.error());
  TlsOptions options(tls);
  options.priorities_ = "NORMAL:-VERS-ALL";
  for (int v = tls.max_version; v >= tls.min_version; --v) {
    options.priorities_ += fmt::format(":+VERS-TLS1.{}", v - 10);
  }
  return options;
}

void TlsOptions::add_to(std::vector<MHD_OptionItem>& options) const {
  const auto add = [&](MHD_OPTION option, const std::string& text) {
    options.push_back({option, 0, const_cast<char*>(text.c_str())});
  };
  add(MHD_OPTION_HTTPS_MEM_CERT, tls_->certificate);
  add(MHD_OPTION_HTTPS_MEM_KEY, tls_->key);
  add(MHD_OPTION_HTTPS_PRIORITIES, priorities_);
  if (!tls_->client_ca.empty()) add(MHD_OPTION_HTTPS_MEM_TRUST, tls_->client_ca);
}

void TlsOptions::prepare(MHD_Connection* connection) const {
  const MHD_ConnectionInfo* const info =
      ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (info == nullptr) return;
  auto* const session = static_cast<gnutls_session_t>(info->tls_session);
  switch (tls_->client_auth) {
    case ClientAuth::kNoClientCert:
      ::gnutls_certificate_server_set_request(session, GNUTLS_CERT_IGNORE);
      break;
    case ClientAuth::kRequestClientCert:
      ::gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
      break;
    case ClientAuth::kRequireAnyClientCert:
      ::gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
      break;
    case ClientAuth::kVerifyClientCertIfGiven:
      ::gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
      ::gnutls_session_set_verify_function(session, &verify);
      break;
    case ClientAuth::kRequireAndVerifyClientCert:
      ::gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
      ::gnutls_session_set_verify_function(session, &verify);
      break;
  }
}

}  // namespace rpcrdma::metrics
