// rpcrdma-kernel: Linux's own NFS/RDMA client and server as a live endpoint. The only program that
// links the libraries which read the kernel.
#include <rpcrdma/kernel/source.h>
#include <rpcrdma/kernel_endpoint/run.h>

int main(int argc, char** argv) {
  using rpcrdma::kernel_endpoint::Plan;
  return rpcrdma::kernel_endpoint::main_of(argc, argv, [](const Plan& plan, std::string& log) {
    return plan.tracefs ? rpcrdma::kernel::open_tracefs(plan.source)
                        : rpcrdma::kernel::open_source(plan.source, &log);
  });
}
