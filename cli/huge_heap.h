#pragma once

namespace rpcrdma::cli {

// From now on what the main thread allocates comes in huge pages, where the system gives such on
// request: a page fault costs a microsecond or several, in a virtual machine most, and the analysis
// of a large capture takes thousands of small pages. Takes address space, and memory no more than
// is used, rounded up to a huge page. Where the allocator is not glibc's it does nothing.
void use_huge_pages();

}  // namespace rpcrdma::cli
