// NFS mounts and sessions as text, in parts that the page shows, too.
#pragma once

#include <functional>
#include <string>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// "slots: all 4 in use 12 times, 1.2 s in all; credits: at most 4 of 64 in use"
[[nodiscard]] std::string mount_limit_text(const mounts::Mount& m);
// "connection 1, over RDMA; 2 callbacks, ..."; empty: its version has no callbacks.
[[nodiscard]] std::string mount_backchannel_text(const mounts::Mount& m);
// "the server 192.0.2.2 reports no working backchannel for session 0102...: CB_PATH_DOWN; ..."
[[nodiscard]] std::string backchannel_down_text(const mounts::Mount& m);
// "3 granted (flexfiles), ..."; empty: there are none.
[[nodiscard]] std::string mount_layouts_text(const mounts::Mount& m);
// "192.0.2.9 port 20049 over RDMA: connection 3, 100 READs, 20 WRITEs"
[[nodiscard]] std::string data_server_text(const mounts::DataServer& s);
// "1, 2, 5"
[[nodiscard]] std::string mount_connections_text(const mounts::Mount& m);
// What identifies it: the session, the client's and the server's owner, or exports.
[[nodiscard]] std::string mount_identity_text(const mounts::Mount& m);

// The section of the text report; empty without NFS. `bold` marks headings. Not escaped for a
// terminal.
[[nodiscard]] std::string mounts_text(const Report& r, bool all,
                                      const std::function<std::string(const std::string&)>& bold);

}  // namespace rpcrdma::report
