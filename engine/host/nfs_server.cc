#include "files.h"

#include <algorithm>

#include <rpcrdma/host/nfs_server.h>

namespace rpcrdma::host {

namespace {

constexpr std::size_t kMostSettings = 256;
constexpr std::size_t kMostSettingBytes = 4096;
constexpr std::size_t kMostNfsdBytes = 64 << 10;
constexpr std::size_t kMostProcedures = 256;
constexpr std::size_t kMostProcedureLines = 16;

// The whole numbers at the beginning. Older kernels follow them with fractions.
std::vector<std::uint64_t> leading_numbers(std::string_view line) {
  std::vector<std::uint64_t> all;
  while (all.size() < kMostProcedures && !line.empty()) {
    const auto value = whole_number(take_until(line, ' '));
    if (!value) break;
    all.push_back(*value);
  }
  return all;
}

// "proc3 22 CALLS...", whose first number is how many follow.
void add_procedures(Nfsd& all, std::string_view name, std::string_view line) {
  std::vector<std::uint64_t> numbers = leading_numbers(line);
  const bool is_new =
      std::ranges::find(all.procedures, name, &NfsdProcedures::line) == all.procedures.end();
  if (!is_new || all.procedures.size() == kMostProcedureLines || numbers.empty() ||
      numbers[0] != numbers.size() - 1) {
    ++all.left_out;
    return;
  }
  numbers.erase(numbers.begin());
  all.procedures.push_back({std::string(name), std::move(numbers)});
}

}  // namespace

base::Expected<Svcrdma> read_svcrdma(const std::string& proc) {
  Svcrdma all;
  const std::string folder = proc + "/sys/sunrpc/svc_rdma";
  const auto names = list_folder(folder, kMostSettings, all.left_out);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    const auto text = is_plain_name(name) ? read_file(folder + "/" + name, kMostSettingBytes)
                                          : base::fail("not a name");
    const auto value = text ? whole_number(trimmed(*text)) : std::nullopt;
    if (value) {
      all.numbers.push_back({name, *value});
    } else {
      ++all.left_out;
    }
  }
  return all;
}

base::Expected<Nfsd> read_nfsd(const std::string& proc) {
  const auto text = read_file(proc + "/net/rpc/nfsd", kMostNfsdBytes);
  if (!text) return tl::unexpected(text.error());
  Nfsd all;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = trimmed(take_until(rest, '\n'));
    const std::string_view name = take_until(line, ' ');
    if (name == "rc") {
      all.reply_cache = leading_numbers(line);
    } else if (name == "fh") {
      all.handles = leading_numbers(line);
    } else if (name == "io") {
      all.io = leading_numbers(line);
    } else if (name == "th") {
      all.threads = leading_numbers(line);
    } else if (name == "net") {
      all.net = leading_numbers(line);
    } else if (name == "rpc") {
      all.rpc = leading_numbers(line);
    } else if (name == "wdeleg_getattr") {
      all.write_delegation_getattrs = whole_number(line);
    } else if (name.starts_with("proc") && is_plain_name(name)) {
      add_procedures(all, name, line);
    } else if (!name.empty() && name != "ra") {  // a cache that nfsd no longer has
      ++all.left_out;
    }
  }
  return all;
}

}  // namespace rpcrdma::host
