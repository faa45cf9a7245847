/* The BPF programs on the tracepoints of Linux's RPC-over-RDMA. Programs named event_* write records
 * to the ring; those named sum_* only count. The library loads one kind, and in
 * both cases those named both_*.
 */
#include "sums.bpf.h"

char LICENSE[] SEC("license") = "GPL";
