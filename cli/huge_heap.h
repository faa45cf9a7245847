#pragma once

namespace rpcrdma::cli {

// Requests huge pages for the main thread's heap from now on, where the system provides them on
// request. A page fault costs a microsecond or more, most in a virtual machine, and the analysis
// of a large capture causes thousands of them with small pages. Uses address space, but only as
// much memory as is needed, rounded up to a huge page. Does nothing if the allocator is not
// glibc's.
void use_huge_pages();

}  // namespace rpcrdma::cli
