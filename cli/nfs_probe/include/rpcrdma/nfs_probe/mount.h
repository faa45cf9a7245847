// The MOUNT protocol, version 3 (RFC 1813 appendix I), over TCP: how a client of NFS version 3
// comes by the handle of what a server exports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/service/nfs3.h>

namespace rpcrdma::nfs_probe {

struct MountServer {
  fabric::Address address;
  std::uint16_t port = 0;                      // of MOUNT's TCP; 0: rpcbind is asked, at port 111
  fabric::Time timeout = 5 * fabric::kSecond;  // of each thing that is waited for
};

struct Mounted {
  service::nfs3::Handle handle;
  std::vector<std::uint32_t> flavors;  // of credentials that the export takes
  std::uint16_t port = 0;              // at which MOUNT was answered
};

// Waits for the answer. Errors, each a clause for a person: rpcbind or MOUNT do not answer, MOUNT
// is not registered, the server refuses (kNotConnected), built without libtirpc (kSystem).
[[nodiscard]] fabric::Expected<Mounted> mount(const MountServer& server, const std::string& path);

// Takes the path off the server's list of those who have it mounted. It is a courtesy: nothing is
// told of failure. `server.port`: as mount() found it.
void unmount(const MountServer& server, const std::string& path);

}  // namespace rpcrdma::nfs_probe
