// Metrics of the NFS server: svcrdma and nfsd.
#include "families.h"

#include <array>
#include <set>
#include <string>
#include <vector>

#include <rpcrdma/decode/programs.h>

namespace rpcrdma::exporter {

namespace {

using host::Counter;
using host::NfsdProcedures;

void write_number(TextWriter& to, const std::vector<std::uint64_t>& numbers, std::size_t at,
                  std::string_view name, TextType type, std::string_view help) {
  to.family(name, type, help);
  if (at < numbers.size()) to.sample({}, numbers[at]);
}

// RFC 8881 section 16.2, RFC 7862 section 14, RFC 8276 section 8.2; from number 3 on.
constexpr std::size_t kFirstOperation = 3;
constexpr std::array<std::string_view, 73> kOperations{"ACCESS",
                                                       "CLOSE",
                                                       "COMMIT",
                                                       "CREATE",
                                                       "DELEGPURGE",
                                                       "DELEGRETURN",
                                                       "GETATTR",
                                                       "GETFH",
                                                       "LINK",
                                                       "LOCK",
                                                       "LOCKT",
                                                       "LOCKU",
                                                       "LOOKUP",
                                                       "LOOKUPP",
                                                       "NVERIFY",
                                                       "OPEN",
                                                       "OPENATTR",
                                                       "OPEN_CONFIRM",
                                                       "OPEN_DOWNGRADE",
                                                       "PUTFH",
                                                       "PUTPUBFH",
                                                       "PUTROOTFH",
                                                       "READ",
                                                       "READDIR",
                                                       "READLINK",
                                                       "REMOVE",
                                                       "RENAME",
                                                       "RENEW",
                                                       "RESTOREFH",
                                                       "SAVEFH",
                                                       "SECINFO",
                                                       "SETATTR",
                                                       "SETCLIENTID",
                                                       "SETCLIENTID_CONFIRM",
                                                       "VERIFY",
                                                       "WRITE",
                                                       "RELEASE_LOCKOWNER",
                                                       "BACKCHANNEL_CTL",
                                                       "BIND_CONN_TO_SESSION",
                                                       "EXCHANGE_ID",
                                                       "CREATE_SESSION",
                                                       "DESTROY_SESSION",
                                                       "FREE_STATEID",
                                                       "GET_DIR_DELEGATION",
                                                       "GETDEVICEINFO",
                                                       "GETDEVICELIST",
                                                       "LAYOUTCOMMIT",
                                                       "LAYOUTGET",
                                                       "LAYOUTRETURN",
                                                       "SECINFO_NO_NAME",
                                                       "SEQUENCE",
                                                       "SET_SSV",
                                                       "TEST_STATEID",
                                                       "WANT_DELEGATION",
                                                       "DESTROY_CLIENTID",
                                                       "RECLAIM_COMPLETE",
                                                       "ALLOCATE",
                                                       "COPY",
                                                       "COPY_NOTIFY",
                                                       "DEALLOCATE",
                                                       "IO_ADVISE",
                                                       "LAYOUTERROR",
                                                       "LAYOUTSTATS",
                                                       "OFFLOAD_CANCEL",
                                                       "OFFLOAD_STATUS",
                                                       "READ_PLUS",
                                                       "SEEK",
                                                       "WRITE_SAME",
                                                       "CLONE",
                                                       "GETXATTR",
                                                       "SETXATTR",
                                                       "LISTXATTRS",
                                                       "REMOVEXATTR"};

std::string operation_name(std::size_t number) {
  const std::size_t at = number - kFirstOperation;
  return number >= kFirstOperation && at < kOperations.size() ? std::string(kOperations[at])
                                                              : std::to_string(number);
}

void write_procedures(TextWriter& to, const host::Nfsd& nfsd, std::uint64_t& left_out) {
  to.family("rpcrdma_nfsd_procedure_calls_total", TextType::kCounter,
            "Calls received, by version and procedure.");
  for (const NfsdProcedures& p : nfsd.procedures) {
    if (p.line == "proc4ops") continue;
    const std::string_view version = std::string_view(p.line).substr(4);
    if (version != "2" && version != "3" && version != "4") {
      ++left_out;
      continue;
    }
    for (std::size_t i = 0; i < p.calls.size(); ++i) {
      const auto number = static_cast<std::uint32_t>(version[0] - '0');
      const char* const name =
          decode::procedure_name(decode::kProgNfs, number, static_cast<std::uint32_t>(i));
      std::string labels;
      label(labels, "version", version);
      label(labels, "procedure", name != nullptr ? name : std::to_string(i));
      to.sample(labels, p.calls[i]);
    }
  }
  to.family("rpcrdma_nfsd_operations_total", TextType::kCounter,
            "Operations of NFSv4 COMPOUNDs executed, by name.");
  for (const NfsdProcedures& p : nfsd.procedures) {
    if (p.line != "proc4ops") continue;
    for (std::size_t i = 0; i < p.calls.size(); ++i) {
      std::string labels;
      label(labels, "operation", operation_name(i));
      to.sample(labels, p.calls[i]);
    }
  }
}

}  // namespace

void write_svcrdma(TextWriter& to, const host::Svcrdma& svcrdma, std::uint64_t& left_out) {
  constexpr std::string_view kStatistic = "rdma_stat_";
  std::set<std::string> names;
  for (const Counter& c : svcrdma.numbers) {
    const bool counts = c.name.starts_with(kStatistic);
    const TextType type = counts ? TextType::kCounter : TextType::kGauge;
    const std::string name =
        metric_name(counts ? "rpcrdma_svcrdma_" : "rpcrdma_svcrdma_setting_",
                    counts ? std::string_view(c.name).substr(kStatistic.size()) : c.name, type);
    if (!names.emplace(base_name(name)).second) {
      ++left_out;
      continue;
    }
    const std::string help = counts ? "Counter " + c.name + " of svcrdma, the server's transport."
                                    : "Setting " + c.name + " of svcrdma.";
    to.family(name, type, help);
    to.sample({}, c.value);
  }
  left_out += svcrdma.left_out;
}

void write_nfsd(TextWriter& to, const host::Nfsd& nfsd, std::uint64_t& left_out) {
  const auto number = [&](const std::vector<std::uint64_t>& numbers, std::size_t at,
                          std::string_view name, std::string_view help,
                          TextType type = TextType::kCounter) {
    write_number(to, numbers, at, name, type, help);
  };
  number(nfsd.reply_cache, 0, "rpcrdma_nfsd_reply_cache_hits_total",
         "Calls that came again and were answered from the cache.");
  number(nfsd.reply_cache, 1, "rpcrdma_nfsd_reply_cache_misses_total",
         "Calls that got an entry in the reply cache.");
  number(nfsd.reply_cache, 2, "rpcrdma_nfsd_reply_cache_uncached_total",
         "Calls that need no entry in the reply cache.");
  number(nfsd.handles, 0, "rpcrdma_nfsd_stale_handles_total", "File handles that were stale.");
  number(nfsd.io, 0, "rpcrdma_nfsd_read_bytes_total", "Bytes that clients read.");
  number(nfsd.io, 1, "rpcrdma_nfsd_written_bytes_total", "Bytes that clients wrote.");
  number(nfsd.threads, 0, "rpcrdma_nfsd_threads", "Threads of nfsd.", TextType::kGauge);
  number(nfsd.threads, 1, "rpcrdma_nfsd_threads_busy_total",
         "Times that all threads were busy; since Linux 2.6.39 always 0.");
  number(nfsd.net, 0, "rpcrdma_nfsd_packets_total", "Messages received.");
  number(nfsd.net, 1, "rpcrdma_nfsd_udp_packets_total", "Messages received by UDP.");
  number(nfsd.net, 2, "rpcrdma_nfsd_tcp_packets_total", "Messages received by TCP.");
  number(nfsd.net, 3, "rpcrdma_nfsd_tcp_connections_total", "Connections accepted by TCP.");
  number(nfsd.rpc, 0, "rpcrdma_nfsd_rpc_calls_total", "Calls received.");
  number(nfsd.rpc, 1, "rpcrdma_nfsd_rpc_bad_calls_total", "Calls that were refused.");
  number(nfsd.rpc, 2, "rpcrdma_nfsd_rpc_bad_format_total", "Calls refused for their format.");
  number(nfsd.rpc, 3, "rpcrdma_nfsd_rpc_bad_authentication_total",
         "Calls refused for their credentials.");
  number(nfsd.rpc, 4, "rpcrdma_nfsd_rpc_bad_client_total", "Calls refused for their client.");
  if (nfsd.write_delegation_getattrs) {
    to.family("rpcrdma_nfsd_write_delegation_getattrs_total", TextType::kCounter,
              "GETATTRs that conflicted with a write delegation.");
    to.sample({}, *nfsd.write_delegation_getattrs);
  }
  write_procedures(to, nfsd, left_out);
  left_out += nfsd.left_out;
}

}  // namespace rpcrdma::exporter
