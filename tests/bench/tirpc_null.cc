#include "tirpc_null.h"

#include "two_cores.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <arpa/inet.h>
#include <poll.h>
#include <rpc/rpc.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rpcrdma::bench {
namespace {

constexpr std::uint32_t kProgram = 0x20525244;
constexpr std::uint32_t kVersion = 1;

// Cast through void*, since libtirpc declares its routines with more arguments than this one has.
xdrproc_t nothing() {
  return reinterpret_cast<xdrproc_t>(reinterpret_cast<void*>(xdr_void));
}

extern "C" void answer(svc_req*, SVCXPRT* transport) {
  svc_sendreply(transport, nothing(), nullptr);
}

// Runs the server's loop by turns of poll(): svc_run() cannot be ended from another thread.
void serve_until(const std::atomic<bool>& over) {
  while (!over) {
    std::vector<pollfd> fds(svc_pollfd, svc_pollfd + svc_max_pollfd);
    if (::poll(fds.data(), fds.size(), 100) > 0) {
      svc_getreq_poll(fds.data(), static_cast<int>(fds.size()));
    }
  }
}

}  // namespace

bool tirpc_null_calls(int rounds, unsigned server_processor, std::vector<double>& us) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening, 1) != 0) {
    return false;
  }
  socklen_t length = sizeof address;
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length);
  SVCXPRT* const transport = svctcp_create(listening, 0, 0);
  if (transport == nullptr || svc_register(transport, kProgram, kVersion, answer, 0) == 0) {
    return false;
  }
  std::atomic<bool> over = false;
  std::thread server([&] {
    pin_to(server_processor);
    serve_until(over);
  });
  int fd = RPC_ANYSOCK;
  CLIENT* const client = clnttcp_create(&address, kProgram, kVersion, &fd, 0, 0);
  bool all = client != nullptr;
  for (int i = 0; all && i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const timeval patience{10, 0};
    all = clnt_call(client, NULLPROC, nothing(), nullptr, nothing(), nullptr, patience) ==
          RPC_SUCCESS;
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                     .count());
  }
  if (client != nullptr) clnt_destroy(client);
  over = true;
  server.join();
  svc_unregister(kProgram, kVersion);
  svc_destroy(transport);
  return all;
}

}  // namespace rpcrdma::bench
