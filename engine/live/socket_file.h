// Unix sockets as files of a folder whose path may be longer than a socket address can hold.
#pragma once

#include "runtime_folder.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace rpcrdma::trace {

// NAME.PID.sock; in NAME, _ replaces characters that do not belong in a file name. The socket for
// the same endpoint's packets is NAME.PID.packets.sock.
struct SocketName {
  std::string name;
  std::uint32_t process = 0;
  bool packets = false;
};
[[nodiscard]] std::string to_file_name(const SocketName& socket);
// Returns nothing if `file` does not have that form: no endpoint created it.
[[nodiscard]] std::optional<SocketName> parse_file_name(std::string_view file);

// Returns whether the socket exists and the folder's owner created it; follows no symbolic link.
[[nodiscard]] bool is_owners_socket(const RuntimeFolder& folder, const std::string& file);

// Returns a connected, close-on-exec, blocking descriptor, or errno. In another user's folder it
// follows no symbolic link, and the listener must be the process of the file's name, and belong to
// the folder's owner or to root; else EPERM.
[[nodiscard]] tl::expected<base::FileDescriptor, int> connect_socket(const RuntimeFolder& folder,
                                                                     const std::string& file);

// A listening, non-blocking socket and its file of mode 0600, which is removed with it. The file
// appears only once it accepts connections, so a socket that refuses has no owner any more.
class ListeningSocket {
 public:
  // Replaces a file of the same name without a listener.
  [[nodiscard]] static base::Expected<ListeningSocket> open(RuntimeFolder folder,
                                                            const SocketName& socket);
  ~ListeningSocket();
  ListeningSocket(ListeningSocket&&) noexcept = default;
  ListeningSocket& operator=(ListeningSocket&&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::string path() const { return folder_.path + "/" + file_; }

 private:
  ListeningSocket() = default;

  RuntimeFolder folder_;
  std::string file_;
  base::FileDescriptor fd_;
  ino_t inode_ = 0;  // of the file
};

}  // namespace rpcrdma::trace
