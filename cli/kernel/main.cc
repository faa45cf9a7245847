// rpcrdma-kernel: Linux's own NFS/RDMA client and server as a live endpoint. The only program that
// links the libraries which read the kernel.
#include <rpcrdma/kernel/source.h>
#include <rpcrdma/kernel_endpoint/run.h>

int main(int argc, char** argv) {
  namespace endpoint = rpcrdma::kernel_endpoint;
  namespace kernel = rpcrdma::kernel;
  return endpoint::main_of(argc, argv, [](const endpoint::Plan& plan, endpoint::Opening& opening) {
    return plan.tracefs ? kernel::open_tracefs(plan.source)
                        : kernel::open_source(plan.source, &opening.log, &opening.why_no_bpf);
  });
}
