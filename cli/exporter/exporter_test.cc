// Every number of procfs and sysfs is in the metrics, under its name and with its value.
#include "families.h"
#include "support/exposition.h"
#include "support/host_tree.h"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <rpcrdma/exporter/exporter.h>

namespace rpcrdma::exporter {
namespace {

using metrics::TextFormat;
using metrics::testing::Exposition;
using metrics::testing::Syntax;
using ::rpcrdma::testing::HostTree;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string scrape_text(const HostTree& host, TextFormat format,
                        std::vector<std::string>* log = nullptr) {
  Options options{host.proc(), host.sys(), {}};
  if (log != nullptr) options.log = [log](const std::string& line) { log->push_back(line); };
  metrics::TextWriter writer(format);
  Exporter(std::move(options)).write(writer);
  return writer.take();
}

Exposition scrape(const HostTree& host) {
  Exposition e(scrape_text(host, TextFormat::kOpenMetrics) + "# EOF\n");
  EXPECT_THAT(e.problems(), IsEmpty());
  const Exposition text(scrape_text(host, TextFormat::kText), Syntax::kText);
  EXPECT_THAT(text.problems(), IsEmpty());
  EXPECT_EQ(text.samples(), e.samples());
  return e;
}

// The names of the lines' numbers, as docs/exporter.md has them.
const std::vector<std::string> kRdmaNames{"local_port",
                                          "binds_total",
                                          "connects_total",
                                          "connect_seconds_total",
                                          "idle_seconds",
                                          "sends_total",
                                          "receives_total",
                                          "bad_xids_total",
                                          "request_queue_total",
                                          "backlog_queue_total",
                                          "read_chunks_total",
                                          "write_chunks_total",
                                          "reply_chunks_total",
                                          "rdma_request_bytes_total",
                                          "rdma_reply_bytes_total",
                                          "pullup_copy_bytes_total",
                                          "fixup_copy_bytes_total",
                                          "hardway_register_bytes_total",
                                          "failed_marshals_total",
                                          "bad_replies_total",
                                          "nomsg_calls_total",
                                          "mrs_recycled_total",
                                          "mrs_orphaned_total",
                                          "mrs_allocated_total",
                                          "local_invalidates_total",
                                          "empty_sendctx_queue_total",
                                          "reply_waits_for_send_total"};
const std::vector<std::string> kTcpNames{
    "local_port",          "binds_total",         "connects_total", "connect_seconds_total",
    "idle_seconds",        "sends_total",         "receives_total", "bad_xids_total",
    "request_queue_total", "backlog_queue_total", "max_slots",      "sending_queue_total",
    "pending_queue_total"};
const std::vector<std::string> kUdpNames{
    "local_port",          "binds_total",         "sends_total",         "receives_total",
    "bad_xids_total",      "request_queue_total", "backlog_queue_total", "max_slots",
    "sending_queue_total", "pending_queue_total"};
const std::vector<std::string> kOperationNames{
    "calls_total",         "transmissions_total",   "timeouts_total",
    "sent_bytes_total",    "received_bytes_total",  "queue_seconds_total",
    "reply_seconds_total", "execute_seconds_total", "errors_total"};
const std::vector<std::string> kByteNames{"normal_read_bytes_total", "normal_written_bytes_total",
                                          "direct_read_bytes_total", "direct_written_bytes_total",
                                          "server_read_bytes_total", "server_written_bytes_total",
                                          "read_pages_total",        "written_pages_total"};

// Reads mountstats in another way than the exporter, and compares. Returns how many numbers it saw.
std::size_t compare(const std::string& text, const Exposition& shown) {
  std::size_t seen = 0;
  std::string mount;
  int transport = 0;
  const auto expect = [&](const std::string& series, double value) {
    ++seen;
    EXPECT_DOUBLE_EQ(shown[series], value) << series;
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m,
                         std::regex("device (\\S+) mounted on (\\S+) with fstype (\\S+).*"))) {
      mount = m[3].str().starts_with("nfs")
                  ? fmt::format("export=\"{}\",mountpoint=\"{}\"", m[1].str(),
                                std::regex_replace(m[2].str(), std::regex("\\\\040"), " "))
                  : "";
      transport = 0;
      continue;
    }
    std::istringstream words(line);
    std::string word, protocol;
    words >> word;
    double value = 0;
    if (mount.empty() || word.empty()) continue;
    if (word == "age:") {
      words >> value;
      expect(fmt::format("rpcrdma_mount_age_seconds{{{}}}", mount), value);
    } else if (word == "xprt:") {
      words >> protocol;
      const auto& names = protocol == "rdma"  ? kRdmaNames
                          : protocol == "tcp" ? kTcpNames
                                              : kUdpNames;
      for (std::size_t i = 0; words >> value; ++i) {
        expect(fmt::format("rpcrdma_mount_xprt_{}{{{},protocol=\"{}\",xprt=\"{}\"}}", names.at(i),
                           mount, protocol, transport),
               value);
      }
      ++transport;
    } else if (word == "bytes:") {
      for (std::size_t i = 0; words >> value; ++i) {
        expect(fmt::format("rpcrdma_mount_{}{{{}}}", kByteNames.at(i), mount), value);
      }
    } else if (std::regex_match(line, m, std::regex("\\t *(\\w+): ([0-9 ]+)")) &&
               word != "events:") {
      if (m[2].str().find_first_not_of("0 ") == std::string::npos) continue;
      for (std::size_t i = 0; words >> value; ++i) {
        expect(fmt::format("rpcrdma_mount_operation_{}{{{},operation=\"{}\"}}",
                           kOperationNames.at(i), mount, m[1].str()),
               i >= 5 && i <= 7 ? value / 1000 : value);
      }
    }
  }
  return seen;
}

TEST(Exporter, EveryNumberOfMountstatsIsShown) {
  const HostTree host;
  host.write_whole_host();
  const Exposition e = scrape(host);
  EXPECT_EQ(compare(std::string(HostTree::kMountstats), e), 2U + 2 * 27 + 13 + 10 + 3 * 9 - 1);
  const std::string mount = "export=\"server:/export\",mountpoint=\"/mnt/a b\"";
  EXPECT_EQ(e["rpcrdma_mount_events_total{event=\"inode_revalidate\"," + mount + "}"], 1);
  EXPECT_EQ(e["rpcrdma_mount_events_total{event=\"pnfs_write\"," + mount + "}"], 27);
  EXPECT_EQ(e["rpcrdma_mount_transports{" + mount + "}"], 2);
  EXPECT_EQ(e["rpcrdma_mount_fallback{" + mount + "}"], 0);
  EXPECT_EQ(e["rpcrdma_exporter_left_out{source=\"mountstats\"}"], 0);
}

// The line of RDMA has grown: Linux 3.x, 4.0, 4.8, 4.11, 4.14, and from 4.15 to 6.12.
TEST(Exporter, EachKernelsFormatIsShown) {
  for (const int length : {20, 21, 24, 25, 26, 27}) {
    for (const char* const statvers : {"1.0", "1.1"}) {
      std::string text = fmt::format(
          "device s:/e mounted on /m with fstype nfs "
          "statvers={}\n\topts:\trw,proto=rdma\n\tage:\t7\n"
          "\tbytes:\t1 2 3 4 5 6 7 8 \n\tRPC iostats version: {}  p/v: 100003/3 "
          "(nfs)\n\txprt:\trdma",
          statvers, statvers);
      for (int i = 0; i < length; ++i) text += fmt::format(" {}", 100 + i);
      text +=
          "\n\txprt:\tudp 1 2 3 4 5 6 7 8 9 10\n\tper-op statistics\n\t READ: 1 2 3 4 5 6 7 8\n\n";
      const HostTree host;
      host.write("proc/self/mountstats", text);
      const Exposition e = scrape(host);
      EXPECT_EQ(compare(text, e), static_cast<std::size_t>(1 + 8 + length + 10 + 8));
      EXPECT_EQ(e["rpcrdma_exporter_left_out{source=\"mountstats\"}"], 0);
    }
  }
}

TEST(Exporter, TheServersNumbersAreShown) {
  const HostTree host;
  host.write_whole_host();
  const Exposition e = scrape(host);
  EXPECT_EQ(e["rpcrdma_svcrdma_recv_total"], 4711);
  EXPECT_EQ(e["rpcrdma_svcrdma_sq_starve_total"], 2);
  EXPECT_EQ(e["rpcrdma_svcrdma_setting_max_requests"], 64);
  EXPECT_EQ(e["rpcrdma_nfsd_reply_cache_misses_total"], 20);
  EXPECT_EQ(e["rpcrdma_nfsd_stale_handles_total"], 4);
  EXPECT_EQ(e["rpcrdma_nfsd_written_bytes_total"], 60000);
  EXPECT_EQ(e["rpcrdma_nfsd_threads"], 8);
  EXPECT_EQ(e["rpcrdma_nfsd_packets_total"], 70);
  EXPECT_EQ(e["rpcrdma_nfsd_rpc_bad_client_total"], 3);
  EXPECT_EQ(e["rpcrdma_nfsd_procedure_calls_total{procedure=\"GETATTR\",version=\"3\"}"], 12);
  EXPECT_EQ(e["rpcrdma_nfsd_procedure_calls_total{procedure=\"COMPOUND\",version=\"4\"}"], 15);
  EXPECT_EQ(e["rpcrdma_nfsd_operations_total{operation=\"ACCESS\"}"], 16);
  EXPECT_EQ(e["rpcrdma_nfsd_operations_total{operation=\"COMMIT\"}"], 18);
}

TEST(Exporter, TransportsAndDevicesAreShown) {
  const HostTree host;
  host.write_whole_host();
  const Exposition e = scrape(host);
  const std::string xprt = "protocol=\"rdma\",switch=\"2\",xprt=\"5\"}";
  EXPECT_EQ(e["rpcrdma_sunrpc_credits_granted{" + xprt], 128);
  EXPECT_EQ(e["rpcrdma_sunrpc_credits_in_use{" + xprt], 64);
  EXPECT_EQ(e["rpcrdma_sunrpc_xprt_backlog_q_len{" + xprt], 1);
  EXPECT_EQ(e["rpcrdma_sunrpc_xprt_tasks_queuelen{" + xprt], 7);
  EXPECT_EQ(e["rpcrdma_sunrpc_switch_queue_len{switch=\"2\"}"], 3);
  const std::string state = "rpcrdma_sunrpc_transport_state{protocol=\"rdma\",state=\"";
  EXPECT_EQ(e[state + "connected\",switch=\"2\",xprt=\"5\"}"], 1);
  EXPECT_EQ(e[state + "closed\",switch=\"2\",xprt=\"5\"}"], 0);
  const std::string port = "{device=\"mlx5_0\",port=\"1\"}";
  EXPECT_EQ(e["rpcrdma_device_hw_out_of_sequence_total" + port], 21);
  EXPECT_EQ(e["rpcrdma_device_out_of_sequence_packets_total" + port], 21);
  EXPECT_EQ(e["rpcrdma_device_rnr_naks_total" + port], 22);
  EXPECT_EQ(e["rpcrdma_device_ack_timeouts_total" + port], 23);
  EXPECT_EQ(e["rpcrdma_device_cnps_sent_total" + port], 24);
  EXPECT_EQ(e["rpcrdma_device_cnps_handled_total" + port], 25);
  EXPECT_EQ(e["rpcrdma_device_ecn_marked_packets_total" + port], 26);
  EXPECT_EQ(e["rpcrdma_device_hw_lifespan" + port], 10);
  EXPECT_EQ(e["rpcrdma_device_port_vl15_dropped_total" + port], 0);
  EXPECT_EQ(e["rpcrdma_device_port_port_xmit_data_total" + port], 1000);
  EXPECT_EQ(e["rpcrdma_device_sent_bytes_total" + port], 4000);
}

TEST(Exporter, AbsentSourcesAreNamedAndLoggedOnce) {
  const HostTree host;
  std::vector<std::string> log;
  Exporter exporter({host.proc(), host.sys(), [&](const std::string& l) { log.push_back(l); }});
  const auto scrape_again = [&] {
    metrics::TextWriter writer(TextFormat::kOpenMetrics);
    exporter.write(writer);
    return Exposition(writer.take() + "# EOF\n");
  };
  const Exposition none = scrape_again();
  EXPECT_THAT(none.problems(), IsEmpty());
  for (const char* const source : {"mountstats", "sunrpc", "svcrdma", "nfsd", "devices"}) {
    EXPECT_EQ(none[fmt::format("rpcrdma_exporter_source_up{{source=\"{}\"}}", source)], 0);
  }
  EXPECT_EQ(log.size(), 5U);
  scrape_again();
  EXPECT_EQ(log.size(), 5U);
  host.write_whole_host();
  const Exposition all = scrape_again();
  EXPECT_EQ(all["rpcrdma_exporter_source_up{source=\"devices\"}"], 1);
  EXPECT_EQ(log.size(), 10U);
  EXPECT_THAT(log.back(), HasSubstr("devices: can be read now"));
}

TEST(Exporter, HostileTextBreaksNoMetric) {
  const HostTree host;
  host.write("proc/self/mountstats",
             std::string("device s:/\"\\134\\012} mounted on /\xff\\040\\134n with fstype nfs "
                         "statvers=\"\n\topts:\tproto=\"}\x01\n,vers=\\,addr=\n"
                         "\txprt:\tr\"dma 1\n\txprt:\trdma 1 2\n\tper-op statistics\n\t A{}: 1\n"));
  const std::string folder = "sys/class/infiniband/a\"\n}\\/ports/1/hw_counters/";
  host.write(folder + "a", "1");
  host.write(folder + "aTotal", "1");
  host.write(folder + "a_total", "2");
  host.write(folder + "x_watermark", "3");
  host.write(folder + "x_watermark_total", "3");
  host.write("proc/sys/sunrpc/svc_rdma/rdma_stat_setting_a", "1");
  host.write("proc/sys/sunrpc/svc_rdma/a", "1");
  host.write("proc/net/rpc/nfsd", "proc3 1 \nproc99 1 1\nproc\"4 1 1\n");
  const std::string bus = "sys/kernel/sunrpc/xprt-switches/switch-1/xprt-1-rdma/";
  host.write(bus + "dstaddr", "\"\\\n\xfe");
  host.write(bus + "xprt_info", "Info=1\ninfo=2\ninfo=3\nx y=4\nz=-1\n");
  host.write(bus + "xprt_state", "state=NEW \"\n");
  const Exposition e = scrape(host);
  EXPECT_EQ(e["rpcrdma_exporter_left_out{source=\"mountstats\"}"], 2);
  EXPECT_EQ(e["rpcrdma_exporter_left_out{source=\"devices\"}"], 3);
  EXPECT_EQ(e["rpcrdma_exporter_left_out{source=\"svcrdma\"}"], 1);
  EXPECT_GE(e["rpcrdma_exporter_left_out{source=\"sunrpc\"}"], 5);
  EXPECT_GE(e["rpcrdma_exporter_left_out{source=\"nfsd\"}"], 3);
}

TEST(TextWriter, SamplesBeyondTheBoundAreCounted) {
  metrics::TextWriter writer(TextFormat::kText, 1000);
  writer.family("a", TextType::kGauge, "A.");
  for (int i = 0; i < 100; ++i) writer.sample("b=\"" + std::to_string(i) + "\"", 1);
  EXPECT_GT(writer.left_out(), 0U);
  const std::uint64_t left_out = writer.left_out();
  writer.make_room(1000);
  writer.family("left_out", TextType::kGauge, "What is not there.");
  writer.sample({}, left_out);
  EXPECT_EQ(writer.left_out(), left_out);
  const std::string text = writer.take();
  EXPECT_LE(text.size(), 2000U);
  const Exposition e(text, Syntax::kText);
  EXPECT_THAT(e.problems(), IsEmpty());
  EXPECT_EQ(e.samples().size(), 101 - left_out);
}

TEST(Names, FilesBecomeMetrics) {
  EXPECT_EQ(snake_case("ip4InOctets"), "ip4_in_octets");
  EXPECT_EQ(snake_case("RxECNMrkd"), "rx_ecn_mrkd");
  EXPECT_EQ(snake_case("RxUDP"), "rx_udp");
  EXPECT_EQ(snake_case("VL15_dropped"), "vl15_dropped");
  EXPECT_EQ(metric_name("a_", "b_total", TextType::kCounter), "a_b_total");
  EXPECT_EQ(metric_name("a_", "b_total", TextType::kGauge), "a_b");
}

// docs/exporter.md has a row for each metric, with its type; those of files have one row for all.
TEST(Exporter, TheDocumentationListsItsMetrics) {
  const HostTree host;
  host.write_whole_host();
  const Exposition e(scrape_text(host, TextFormat::kText), Syntax::kText);
  std::set<std::string> shown, documented;
  const std::regex of_files("rpcrdma_(device_(hw|port)|svcrdma|sunrpc_(switch|xprt))_.*");
  for (const auto& [name, type] : e.types()) {
    if (!std::regex_match(name, of_files)) shown.insert(name + " " + type);
  }
  std::ifstream file(RPCRDMA_TEST_DOCS "/exporter.md");
  ASSERT_TRUE(file);
  for (std::string line; std::getline(file, line);) {
    std::smatch m;
    if (std::regex_search(line, m,
                          std::regex("^\\| `(rpcrdma_[a-z_]+)` \\| (counter|gauge) \\|"))) {
      documented.insert(m[1].str() + " " + m[2].str());
    }
  }
  // What no file of this host states.
  documented.erase("rpcrdma_device_retries_exceeded_total counter");
  EXPECT_EQ(documented, shown);
}

}  // namespace
}  // namespace rpcrdma::exporter
