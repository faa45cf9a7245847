// Writes what the sources state. Each function writes families of its own; left_out is added to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rpcrdma/host/device_counters.h>
#include <rpcrdma/host/mountstats.h>
#include <rpcrdma/host/nfs_server.h>
#include <rpcrdma/host/sunrpc.h>
#include <rpcrdma/metrics/text_writer.h>

namespace rpcrdma::exporter {

using metrics::TextType;
using metrics::TextWriter;

void write_mounts(TextWriter& to, const host::Mounts& mounts, std::uint64_t& left_out);
void write_nfsd(TextWriter& to, const host::Nfsd& nfsd, std::uint64_t& left_out);
void write_svcrdma(TextWriter& to, const host::Svcrdma& svcrdma, std::uint64_t& left_out);
void write_sunrpc(TextWriter& to, const host::Sunrpc& sunrpc, std::uint64_t& left_out);
void write_devices(TextWriter& to, const host::Devices& devices, std::uint64_t& left_out);

// A label, made valid UTF-8.
void label(std::string& labels, std::string_view name, std::string_view value);

// The end of a metric's name for the name of a file: in lower case, with '_' between words.
// "ip4InOctets" becomes "ip4_in_octets", "RxECNMrkd" becomes "rx_ecn_mrkd".
[[nodiscard]] std::string snake_case(std::string_view name);
// Without the ending of counters: two families must not differ in it alone.
[[nodiscard]] std::string_view base_name(std::string_view metric);
// As snake_case(), after `prefix` and with the ending that its type requires.
[[nodiscard]] std::string metric_name(std::string_view prefix, std::string_view file,
                                      TextType type);

}  // namespace rpcrdma::exporter
