#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

#include <rpcrdma/base/helper_program.h>

namespace rpcrdma::base {

Expected<std::string> find_helper_program(std::string_view name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::array<fs::path, 4> folders{own, own.parent_path() / "bin",
                                        own.parent_path() / "libexec/rpcrdma",
                                        fs::path(RPCRDMA_HELPER_DIR)};
  for (const fs::path& folder : folders) {
    const std::string path = (folder / name).string();
    if (::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, ignored)) return path;
  }
  return fail("the program " + std::string(name) + " is missing: it is installed in " +
              RPCRDMA_HELPER_DIR +
              ", unless the libraries that it needs were missing when this program was built");
}

}  // namespace rpcrdma::base
