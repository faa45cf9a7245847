// The MOUNT protocol, version 3 (RFC 1813 appendix I), over TCP: how a client of NFS version 3
// obtains the handle of an exported directory.
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
  std::uint16_t port = 0;                      // TCP port of MOUNT; 0: ask rpcbind, at port 111
  fabric::Time timeout = 5 * fabric::kSecond;  // of each wait
};

struct Mounted {
  service::nfs3::Handle handle;
  std::vector<std::uint32_t> flavors;  // authentication flavors that the export accepts
  std::uint16_t port = 0;              // where MOUNT answered
};

// Waits for the answer. Errors, each a clause for a person: rpcbind or MOUNT do not answer, MOUNT
// is not registered, the server refuses (kNotConnected), built without libtirpc (kSystem).
[[nodiscard]] fabric::Expected<Mounted> mount(const MountServer& server, const std::string& path);

// Removes the path from the server's list of mounts. `server.port`: as mount() found it. Errors as
// above: the list, which is for people alone, may still name this client.
[[nodiscard]] fabric::Expected<void> unmount(const MountServer& server, const std::string& path);

}  // namespace rpcrdma::nfs_probe
