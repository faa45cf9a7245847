// All metrics and their help texts; docs/metrics.md lists them with their labels.
//
// Labels have few values, all chosen by this program. `role` distinguishes a server's figures from
// a client's where both have them.
#pragma once

#include "families.h"

namespace rpcrdma::metrics {

using prometheus::MetricType;

// ----- Calls

inline constexpr Metric kCalls{"rpcrdma_calls_total", MetricType::Counter,
                               "Calls made by clients and received by servers."};
inline constexpr Metric kReplies{"rpcrdma_replies_total", MetricType::Counter,
                                 "Replies received by clients and sent by servers."};
inline constexpr Metric kProcedureCalls{
    "rpcrdma_procedure_calls_total", MetricType::Counter,
    "Calls by procedure: completed by clients, handled by servers."};
inline constexpr Metric kErrors{"rpcrdma_errors_total", MetricType::Counter,
                                "Errors of Calls and Replies, by class and kind."};
inline constexpr Metric kResent{"rpcrdma_calls_resent_total", MetricType::Counter,
                                "Calls resent on a new connection."};
inline constexpr Metric kDelayed{"rpcrdma_calls_delayed_total", MetricType::Counter,
                                 "Calls that waited for memory for their Read chunks."};
inline constexpr Metric kOutstanding{"rpcrdma_calls_outstanding", MetricType::Gauge,
                                     "Calls sent and not completed, or received and not answered."};
inline constexpr Metric kWaiting{"rpcrdma_calls_waiting", MetricType::Gauge,
                                 "Calls that wait for a credit or a connection."};
inline constexpr Metric kDuration{"rpcrdma_call_duration_seconds", MetricType::Histogram,
                                  "Duration of Calls with a Reply: for clients from start to "
                                  "completion, for servers from Receive to Reply."};
inline constexpr Metric kPartDuration{
    "rpcrdma_call_part_duration_seconds", MetricType::Histogram,
    "Parts of the duration of clients' Calls: credit, reply, fence."};
inline constexpr Metric kProcedureDuration{
    "rpcrdma_procedure_duration_seconds", MetricType::Histogram,
    "Duration of Calls, by procedure: for clients from start to completion, for servers from "
    "Receive to Reply."};
inline constexpr Metric kSendBytes{"rpcrdma_send_bytes_total", MetricType::Counter,
                                   "Bytes of Sends with Calls and Replies, headers included."};
inline constexpr Metric kMessageBytes{
    "rpcrdma_message_bytes_total", MetricType::Counter,
    "Bytes of RPC messages by way of transfer, without RPC-over-RDMA headers."};

inline constexpr Metric kOneWay{"rpcrdma_one_way_calls_total", MetricType::Counter,
                                "Calls without a Reply, sent by clients and executed by servers."};
inline constexpr Metric kNullCalls{
    "rpcrdma_null_calls_total", MetricType::Counter,
    "Calls of procedure 0 that clients make to get the credits of one-way Calls back."};

// ----- the duplicate request cache of servers

inline constexpr Metric kProtectedCalls{"rpcrdma_duplicate_cache_calls_total", MetricType::Counter,
                                        "Calls executed with an entry in the cache."};
inline constexpr Metric kDuplicateCalls{"rpcrdma_duplicate_calls_total", MetricType::Counter,
                                        "Calls received again and not executed again, by fate."};
inline constexpr Metric kCacheRemoved{"rpcrdma_duplicate_cache_removed_total", MetricType::Counter,
                                      "Entries removed from the cache, by reason."};
inline constexpr Metric kCacheMissing{"rpcrdma_duplicate_cache_missing_total", MetricType::Counter,
                                      "Calls or Replies for which the cache had no room."};
inline constexpr Metric kCacheEntries{"rpcrdma_duplicate_cache_entries", MetricType::Gauge,
                                      "Entries in the cache."};
inline constexpr Metric kCacheBytes{"rpcrdma_duplicate_cache_bytes", MetricType::Gauge,
                                    "Bytes of the cache."};

// ----- credits

inline constexpr Metric kCreditsGranted{"rpcrdma_credits_granted", MetricType::Gauge,
                                        "Credits granted, sum over all connections."};
inline constexpr Metric kCreditsInUse{"rpcrdma_credits_in_use", MetricType::Gauge,
                                      "Credits in use, sum over all connections."};
inline constexpr Metric kCreditsLimit{"rpcrdma_credits_limit", MetricType::Gauge,
                                      "Maximum of credits on the open connections."};
inline constexpr Metric kStalls{"rpcrdma_credit_stalls_total", MetricType::Counter,
                                "Calls that waited for a credit."};

inline constexpr Metric kCreditWait{"rpcrdma_credit_wait_seconds_total", MetricType::Counter,
                                    "Time that Calls waited for a credit."};

// ----- connections

inline constexpr Metric kConnections{"rpcrdma_connections", MetricType::Gauge, "Open connections."};
inline constexpr Metric kOpened{"rpcrdma_connections_opened_total", MetricType::Counter,
                                "Connections accepted by servers and established by clients."};
inline constexpr Metric kRejected{
    "rpcrdma_connections_rejected_total", MetricType::Counter,
    "Connections that were rejected or could not be established, by reason."};
inline constexpr Metric kClosed{"rpcrdma_connections_closed_total", MetricType::Counter,
                                "Connections that ended, by reason."};

// ----- queue pairs, of Linux's client and server

inline constexpr Metric kSendQueueFull{"rpcrdma_send_queue_full_total", MetricType::Counter,
                                       "Posts that waited for room in the send queue."};
inline constexpr Metric kFlushed{"rpcrdma_completions_failed_total", MetricType::Counter,
                                 "Completions with an error, such as flushed ones."};
inline constexpr Metric kInvalidHeaders{"rpcrdma_invalid_headers_total", MetricType::Counter,
                                        "Received headers that could not be decoded."};

// ----- packets, of RDMA in user space

inline constexpr Metric kPackets{"rpcrdma_packets_total", MetricType::Counter,
                                 "RoCEv2 packets sent and received."};
inline constexpr Metric kPacketBytes{"rpcrdma_packet_bytes_total", MetricType::Counter,
                                     "Bytes of these packets, from the BTH through the ICRC."};
inline constexpr Metric kDropped{"rpcrdma_packets_dropped_total", MetricType::Counter,
                                 "Packets dropped by this endpoint, in either direction."};
inline constexpr Metric kHalfOpen{"rpcrdma_half_open_connections", MetricType::Gauge,
                                  "Connections whose peers have not proved their addresses yet."};
inline constexpr Metric kHalfOpenEvicted{"rpcrdma_half_open_evicted_total", MetricType::Counter,
                                         "Half-open connections that made room for newer ones."};
inline constexpr Metric kAnswersWithheld{
    "rpcrdma_answers_withheld_total", MetricType::Counter,
    "Answers not repeated, because their receiver has not proved its address."};
inline constexpr Metric kRetransmitted{"rpcrdma_packets_retransmitted_total", MetricType::Counter,
                                       "Request packets retransmitted."};
inline constexpr Metric kDuplicates{"rpcrdma_packets_duplicate_total", MetricType::Counter,
                                    "Duplicate request packets received."};
inline constexpr Metric kOutOfOrder{"rpcrdma_packets_out_of_order_total", MetricType::Counter,
                                    "Request packets received after a gap."};
inline constexpr Metric kTransportTimeouts{"rpcrdma_transport_timeouts_total", MetricType::Counter,
                                           "Acknowledgment timeouts."};
inline constexpr Metric kAcknowledgements{"rpcrdma_acknowledgements_total", MetricType::Counter,
                                          "ACKs, NAKs, and NAKs for a missing Receive (RNR)."};

// ----- memory

inline constexpr Metric kMemory{"rpcrdma_registered_memory_bytes", MetricType::Gauge,
                                "Registered memory."};
inline constexpr Metric kMemoryInUse{"rpcrdma_registered_memory_in_use_bytes", MetricType::Gauge,
                                     "Registered memory in use."};
inline constexpr Metric kMemoryLimit{"rpcrdma_registered_memory_limit_bytes", MetricType::Gauge,
                                     "Maximum of registered memory."};

// ----- the trace: events for attach, top and recordings

inline constexpr Metric kTraceEvents{"rpcrdma_trace_events_total", MetricType::Counter,
                                     "Trace events of the endpoint."};
inline constexpr Metric kTraceLost{"rpcrdma_trace_events_lost_total", MetricType::Counter,
                                   "Trace events lost to readers, by place of the loss."};

// ----- the program and its process, by the names that all exporters have for it

inline constexpr Metric kBuildInfo{"rpcrdma_build_info", MetricType::Gauge,
                                   "1, with the version of the program."};
inline constexpr Metric kStartTime{"process_start_time_seconds", MetricType::Gauge,
                                   "Start time of the process since the epoch."};
inline constexpr Metric kCpu{"process_cpu_seconds_total", MetricType::Counter,
                             "Processor time of the process, user and system."};
inline constexpr Metric kResident{"process_resident_memory_bytes", MetricType::Gauge,
                                  "Resident memory of the process."};
inline constexpr Metric kVirtual{"process_virtual_memory_bytes", MetricType::Gauge,
                                 "Virtual memory of the process."};
inline constexpr Metric kOpenFiles{"process_open_fds", MetricType::Gauge,
                                   "Open file descriptors of the process."};
inline constexpr Metric kMostFiles{"process_max_fds", MetricType::Gauge,
                                   "Maximum of open file descriptors."};
inline constexpr Metric kThreads{"process_threads", MetricType::Gauge, "Threads of the process."};

// ----- the metrics themselves

inline constexpr Metric kAge{
    "rpcrdma_snapshot_age_seconds", MetricType::Gauge,
    "Age of the oldest of these metrics: not 0 if a loop does not answer."};

}  // namespace rpcrdma::metrics
