// Replaces mount.cc in a build without libtirpc.
#include <rpcrdma/nfs_probe/mount.h>

namespace rpcrdma::nfs_probe {

fabric::Expected<Mounted> mount(const MountServer& /*server*/, const std::string& /*path*/) {
  return fabric::fail(fabric::Errc::kSystem,
                      "this program was built without libtirpc, so it cannot ask for the handle of "
                      "an export; specify it with --handle");
}

fabric::Expected<void> unmount(const MountServer& /*server*/, const std::string& /*path*/) {
  return {};
}

}  // namespace rpcrdma::nfs_probe
