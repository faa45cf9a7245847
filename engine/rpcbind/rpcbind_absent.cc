// Without libtirpc.
#include <rpcrdma/rpcbind/rpcbind.h>

namespace rpcrdma::rpcbind {

namespace {

tl::unexpected<fabric::Error> absent() {
  return fabric::fail(fabric::Errc::kSystem,
                      "this program was built without libtirpc, so it cannot ask rpcbind");
}

}  // namespace

fabric::Expected<std::vector<Registration>> dump(const Server& /*server*/) {
  return absent();
}
fabric::Expected<bool> set(const Server& /*server*/, const Registration& /*what*/) {
  return absent();
}
fabric::Expected<bool> unset(const Server& /*server*/, const Registration& /*what*/) {
  return absent();
}
fabric::Expected<std::optional<fabric::Endpoint>> find_tcp(const Server& /*server*/,
                                                           std::uint32_t /*program*/,
                                                           std::uint32_t /*version*/) {
  return absent();
}
std::optional<std::uint32_t> program_by_name(const std::string& /*name*/) {
  return std::nullopt;
}

}  // namespace rpcrdma::rpcbind
