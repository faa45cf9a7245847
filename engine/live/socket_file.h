// Unix sockets as files of a folder, whose path may be longer than a socket's address can hold.
#pragma once

#include "runtime_folder.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace rpcrdma::trace {

// NAME.PID.sock; in NAME stands _ for what does not belong into the name of a file. Where the same
// endpoint's packets are: NAME.PID.packets.sock.
struct SocketName {
  std::string name;
  std::uint32_t process = 0;
  bool packets = false;
};
[[nodiscard]] std::string to_file_name(const SocketName& socket);
// Nothing when `file` has not that form: no endpoint has made it.
[[nodiscard]] std::optional<SocketName> parse_file_name(std::string_view file);

// It is there, and this user made it: no link leads elsewhere.
[[nodiscard]] bool is_own_socket(const RuntimeFolder& folder, const std::string& file);

// Connected, close-on-exec and blocking; else errno.
[[nodiscard]] tl::expected<base::FileDescriptor, int> connect_socket(const RuntimeFolder& folder,
                                                                     const std::string& file);

// A socket that listens, non-blocking, and its file of mode 0600, which goes when it goes. The file
// is there only from when it can be connected to, so one that refuses is nobody's any more.
class ListeningSocket {
 public:
  // A file of the same name which nobody listens at is replaced.
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
