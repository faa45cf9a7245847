#include <bit>
#include <cctype>
#include <cstring>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/fabric/address.h>
#include <rpcrdma/kernel_endpoint/options.h>

namespace rpcrdma::kernel_endpoint {
namespace {

using base::Expected;
using base::fail;

constexpr std::uint8_t kIpv4Prefix = 96;  // of a mapped IPv4 address, before its own bits
constexpr std::uint32_t kMostQpn = 0xffffff;
constexpr std::uint32_t kMostProcedure = 63;  // of the programs with names
constexpr std::uint64_t kSmallestRing = 4096, kLargestRing = std::uint64_t{1} << 30;
constexpr std::uint32_t kNfsCallbackVersion = 1;

bool same_name(std::string_view typed, const char* name) {
  if (name == nullptr || typed.size() != std::strlen(name)) return false;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (std::toupper(static_cast<unsigned char>(typed[i])) != name[i]) return false;
  }
  return true;
}

// "10.0.0.1", "10.0.0.0/24", "fd00::/8".
Expected<void> parse_peer(const std::string& text, kernel::Filter& filter) {
  const std::size_t slash = text.find('/');
  const auto address = fabric::parse_address(text.substr(0, slash));
  if (!address) {
    return fail(
        fmt::format("--peer {}: not an IP address, or an address and a prefix length such "
                    "as 10.0.0.0/24",
                    text));
  }
  const std::uint32_t most = address->ipv6 ? 128 : 32;
  std::uint32_t prefix = most;
  if (slash != std::string::npos) {
    const auto given = base::parse_u32(text.substr(slash + 1));
    if (!given || *given > most) {
      return fail(
          fmt::format("--peer {}: the prefix length is not a number from 0 to {}", text, most));
    }
    prefix = *given;
  }
  filter.peer = address->gid();
  filter.peer_prefix = static_cast<std::uint8_t>(address->ipv6 ? prefix : kIpv4Prefix + prefix);
  return {};
}

std::optional<std::uint32_t> program_of(const std::string& text) {
  if (const auto number = base::parse_u32(text)) return number;
  for (const std::uint32_t program :
       {decode::kProgNfs, decode::kProgMount, decode::kProgNlm, decode::kProgNsm,
        decode::kProgNfsAcl, decode::kProgNfsCallback}) {
    const std::uint32_t version = program == decode::kProgNfsCallback ? kNfsCallbackVersion : 3;
    if (same_name(text, decode::program_name(program, version, 0))) return program;
  }
  return std::nullopt;
}

// A name is one of NFS version 3, or of version 4.
std::optional<std::uint32_t> procedure_of(const std::string& text, std::uint32_t program) {
  if (const auto number = base::parse_u32(text)) return number;
  for (const std::uint32_t version : {3U, 4U, 1U}) {
    for (std::uint32_t procedure = 0; procedure <= kMostProcedure; ++procedure) {
      if (same_name(text, decode::procedure_name(program, version, procedure))) return procedure;
    }
  }
  return std::nullopt;
}

Expected<void> parse_filter(const FilterText& text, kernel::Filter& filter) {
  if (!text.peer.empty()) {
    if (auto peer = parse_peer(text.peer, filter); !peer) return peer;
  }
  if (!text.qpn.empty()) {
    filter.qpn = base::parse_u32(text.qpn);
    if (!filter.qpn || *filter.qpn == 0 || *filter.qpn > kMostQpn) {
      return fail(fmt::format("--qpn {}: not a queue pair number", text.qpn));
    }
  }
  if (!text.program.empty()) {
    filter.program = program_of(text.program);
    if (!filter.program) {
      return fail(fmt::format(
          "--program {}: not a number, nor one of nfs, mount, nlm, nsm, nfs_acl, nfs_cb",
          text.program));
    }
  }
  if (!text.procedure.empty()) {
    filter.procedure = procedure_of(text.procedure, filter.program.value_or(decode::kProgNfs));
    if (!filter.procedure) {
      return fail(fmt::format("--procedure {}: neither a number nor a procedure of {}",
                              text.procedure, text.program.empty() ? "NFS" : text.program));
    }
    // A procedure number means nothing without its program.
    if (!filter.program) filter.program = decode::kProgNfs;
  }
  if (!text.slower.empty()) {
    const auto ns = base::parse_duration(text.slower);
    if (!ns) {
      return fail(fmt::format(
          "--slower {}: not a duration; give seconds, or a duration such as 500us, 10ms",
          text.slower));
    }
    filter.slower_than_ns = *ns;
  }
  filter.only_errors = text.errors;
  return {};
}

void add_flag(std::vector<std::string>& words, const char* name, bool given) {
  if (given) words.emplace_back(name);
}
// One word with "=", so that a value may begin with a dash.
void add_value(std::vector<std::string>& words, const char* name, const std::string& value) {
  if (!value.empty()) words.push_back(fmt::format("{}={}", name, value));
}

// "--peer=10.0.0.1 --errors": options that leave events out.
std::string conditions(FilterText text) {
  text.client = text.server = text.tracefs = false;
  std::string all;
  for (const std::string& word : words(text)) all += (all.empty() ? "" : " ") + word;
  return all;
}

}  // namespace

bool FilterText::any() const {
  return !words(*this).empty();
}

void add_filter_options(command_line::Command& command, FilterText& text,
                        const std::string& where) {
  const auto help = [&](std::string line) {
    if (!where.empty()) return where + line;
    line[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(line[0])));
    return line;
  };
  command.option("--peer", text.peer, help("only connections with this peer or network"))
      .value("ADDRESS[/PREFIX]");
  command.option("--qpn", text.qpn, help("only the connection with this local queue pair number"))
      .value("QPN");
  command
      .option("--program", text.program,
              help("only Calls of this program: nfs, mount, nlm, nsm, nfs_acl, nfs_cb or a number"))
      .value("PROGRAM");
  command
      .option("--procedure", text.procedure,
              help("only Calls of this procedure: its name or number; of NFS without --program"))
      .value("PROCEDURE");
  command
      .option("--slower", text.slower,
              help("only Calls, with their Replies, that take longer than this"))
      .value("DURATION");
  command.flag("--errors", text.errors,
               help("only RDMA_ERRORs, failed completions and headers that cannot be decoded"));
  command.flag("--client", text.client, help("only the NFS/RDMA client (xprtrdma)"));
  command.flag("--server", text.server, help("only the NFS/RDMA server (svcrdma)"));
  command.flag("--tracefs", text.tracefs,
               help("use tracepoints even if BPF programs could be loaded"));
}

void add_options(command_line::Command& command, OptionText& text) {
  command.flag("--sums", text.sums,
               "Copy no events: the kernel counts, and the sums are read once a second");
  add_filter_options(command, text.filter);
  command.option("--name", text.name, "Name of the live socket").value("NAME").show_default();
  command.option("--record", text.record, "Record trace events in this pcapng file").value("FILE");
  cli::add_ring_options(command, text.ring, cli::kRecordedRing);
  command
      .option("--metrics", text.metrics,
              "With --sums: serve metrics for Prometheus over HTTP at this address or name of this "
              "machine: 10.0.0.1:9464, [::1]:9464, 9464 for the loopback address, or :9464 for all "
              "addresses; port 0: any that is free (docs/metrics.md)")
      .value("HOST:PORT");
  command
      .option("--metrics-config", text.metrics_config,
              "With --metrics: TLS and users, in the format of Prometheus's --web.config.file "
              "(docs/metrics.md)")
      .value("FILE")
      .needs("--metrics");
  command
      .option(
          "--user", text.user,
          "When run as root: switch to this user once the kernel is traced (the user who called "
          "sudo)")
      .value("USER");
  command
      .option("--kernel-ring", text.kernel_ring,
              "Size of the kernel's ring, in which events wait to be read: 4Ki to 1Gi, rounded up "
              "to a power of two (8Mi)")
      .value("SIZE");
  command.flag("-v,--verbose", text.verbose,
               "If the kernel refuses a BPF program, print the verifier's log");
  command.flag("--until-input-ends", text.until_input_ends,
               "Print the path of the live socket, and end when standard input ends");
  command.footer(
      "Traces Linux's own NFS/RDMA client and server (xprtrdma, svcrdma) on any RNIC, as a live "
      "endpoint: `rpcrdma attach kernel` and `rpcrdma top kernel` read it. It needs privileges to "
      "load BPF programs or to enable tracepoints, and gives them up before it reads anything "
      "(docs/kernel.md).");
}

std::vector<std::string> words(const FilterText& text) {
  std::vector<std::string> words;
  add_value(words, "--peer", text.peer);
  add_value(words, "--qpn", text.qpn);
  add_value(words, "--program", text.program);
  add_value(words, "--procedure", text.procedure);
  add_value(words, "--slower", text.slower);
  add_flag(words, "--errors", text.errors);
  add_flag(words, "--client", text.client);
  add_flag(words, "--server", text.server);
  add_flag(words, "--tracefs", text.tracefs);
  return words;
}

std::vector<std::string> words(const OptionText& text) {
  std::vector<std::string> all = words(text.filter);
  add_flag(all, "--sums", text.sums);
  if (text.name != kName) all.push_back("--name=" + text.name);
  add_value(all, "--record", text.record);
  if (text.ring.files != 0) all.push_back(fmt::format("--record-files={}", text.ring.files));
  add_value(all, "--record-size", text.ring.size);
  add_value(all, "--record-time", text.ring.time);
  add_value(all, "--metrics", text.metrics);
  add_value(all, "--metrics-config", text.metrics_config);
  add_value(all, "--user", text.user);
  add_value(all, "--kernel-ring", text.kernel_ring);
  add_flag(all, "--verbose", text.verbose);
  add_flag(all, "--until-input-ends", text.until_input_ends);
  return all;
}

Expected<Plan> parse(const OptionText& text) {
  Plan plan;
  plan.source.mode = text.sums ? kernel::Mode::kSums : kernel::Mode::kEvents;
  if (const auto filter = parse_filter(text.filter, plan.source.filter); !filter) {
    return tl::unexpected(filter.error());
  }
  if (text.sums && (plan.source.filter.slower_than_ns != 0 || plan.source.filter.only_errors)) {
    return fail("--slower and --errors select events; they cannot be used with --sums");
  }
  if (text.sums && text.filter.tracefs) {
    return fail("--tracefs: tracepoints have no sums; it cannot be used with --sums");
  }
  plan.filter = conditions(text.filter);
  // Without either, or with both, both are traced.
  plan.source.client = text.filter.client || !text.filter.server;
  plan.source.server = text.filter.server || !text.filter.client;
  plan.tracefs = text.filter.tracefs;
  if (text.name.empty()) return fail("--name: empty");
  // attach treats a name with a slash as the path of a socket.
  if (text.name.find('/') != std::string::npos) {
    return fail(fmt::format("--name {}: contains a slash, which only paths do", text.name));
  }
  plan.name = text.name;
  if (text.record == "-") return fail("--record -: a recording needs a file");
  plan.record = text.record;
  const auto ring = cli::parse_ring(text.ring, cli::kRecordedRing, !plan.record.empty());
  if (!ring) return fail(ring.error());
  plan.ring = *ring;
  if (!text.metrics.empty()) {
    if (!text.sums) return fail("--metrics: needs --sums, since metrics are sums");
    const auto address = cli::parse_metrics_address(text.metrics, text.metrics_config);
    if (!address) return tl::unexpected(address.error());
    plan.metrics = *address;
  }
  plan.user = text.user;
  if (!text.kernel_ring.empty()) {
    const auto bytes = base::parse_size(text.kernel_ring);
    if (!bytes || *bytes < kSmallestRing || *bytes > kLargestRing) {
      return fail(fmt::format("--kernel-ring {}: not a size from 4Ki to 1Gi", text.kernel_ring));
    }
    plan.source.ring_bytes = std::bit_ceil(*bytes);
  }
  plan.verbose = text.verbose;
  plan.until_input_ends = text.until_input_ends;
  return plan;
}

}  // namespace rpcrdma::kernel_endpoint
