// Messages as BPF programs copied them from the kernel equal the traffic, after their translation
// to events: each Call and Reply, its XID, chunk segments, credits, invalidated handle and
// procedure.
#include "seen_messages.h"
#include "support/trace_builder.h"
#include "translate.h"

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>

namespace rpcrdma::kernel_test {
namespace {

using trace_reader::testing::Bytes;
using trace_reader::testing::TraceBuilder;

// Records the events of a translator like an endpoint.
class RecordingSink final : public kernel::EventSink {
 public:
  RecordingSink() { builder.begin("kernel", "", 1, trace::EventSource::kKernelBpf); }
  void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload) override {
    trace::EventHeader own = header;
    own.ring = builder.ring;
    Bytes bytes(trace::event_bytes(own));
    std::memcpy(bytes.data(), &own, sizeof own);
    auto at = bytes.begin() + sizeof own;
    at = std::copy(fixed.begin(), fixed.end(), at);
    at = std::copy(payload.begin(), payload.end(), at);
    std::copy(extra_payload.begin(), extra_payload.end(), at);
    builder.repeat(own, bytes);
  }
  void lost(std::uint64_t /*count*/) override {}
  [[nodiscard]] std::uint32_t new_connection() override { return ++numbers_; }

  TraceBuilder builder;

 private:
  std::uint32_t numbers_ = 0;
};

std::string unpacked(const std::string& path) {
  std::string text;
  FILE* const pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
  std::array<char, 4096> part;
  for (std::size_t n; pipe != nullptr && (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), n);
  }
  if (pipe != nullptr) pclose(pipe);
  return text;
}

struct Line {
  std::uint64_t time = 0;
  std::string kind;
  std::uint32_t qpn = 0, completion = 0, header = 0, message = 0, invalidated = 0;
  Bytes bytes;
};

std::vector<Line> lines_of(const std::string& path) {
  std::vector<Line> lines;
  std::istringstream text(unpacked(path));
  for (std::string row; std::getline(text, row);) {
    Line line;
    std::array<char, 16> kind{};
    int read = 0;
    unsigned long long time = 0;
    if (std::sscanf(row.c_str(), "KS %llu %15s qpn=%u cq=%*u cid=%u hdr=%u msg=%u inv=%x %n", &time,
                    kind.data(), &line.qpn, &line.completion, &line.header, &line.message,
                    &line.invalidated, &read) != 7) {
      continue;
    }
    line.time = time;
    line.kind = kind.data();
    for (std::size_t i = static_cast<std::size_t>(read); i + 1 < row.size(); i += 2) {
      line.bytes.push_back(static_cast<std::uint8_t>(std::stoul(row.substr(i, 2), nullptr, 16)));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// As our programs would have written it.
Bytes record_of(const Line& line, std::uint32_t role, std::uint32_t qpn, bool received, bool call) {
  scope_message message{};
  message.record.type = SCOPE_MESSAGE;
  message.record.time = line.time;
  message.record.connection = {0xffff888000000000 + qpn, qpn, role};
  if (received) message.flags |= SCOPE_RECEIVED;
  if (call) message.flags |= SCOPE_HAS_CALL;
  if (line.invalidated != 0) message.flags |= SCOPE_INVALIDATES;
  message.invalidate = line.invalidated;
  // The client's program copied the header apart from the message. What a Read chunk carries is not
  // in the Send, so the length of such a Send is not known.
  const bool no_message = line.bytes[15] == 1;  // RDMA_NOMSG
  const bool reads = line.bytes[19] != 0;
  const auto captured = static_cast<std::uint32_t>(line.bytes.size());
  if (line.kind != "MARSHAL") {
    message.length = line.message;
  } else if (no_message) {
    message.length = line.header;
  } else {
    message.length = reads ? captured : line.header + line.message;
  }
  message.captured = std::min(captured, message.length);
  Bytes record(sizeof message);
  std::memcpy(record.data(), &message, sizeof message);
  record.insert(record.end(), line.bytes.begin(), line.bytes.begin() + message.captured);
  return record;
}

SeenMessages seen(RecordingSink& sink, const std::string& name) {
  sink.builder.end();
  const std::string path = ::testing::TempDir() + name;
  const Bytes file = sink.builder.pcapng();
  FILE* const out = std::fopen(path.c_str(), "wb");
  std::fwrite(file.data(), 1, file.size(), out);
  std::fclose(out);
  return SeenMessages::read(path);
}

const SeenMessages& traffic() {
  static const SeenMessages kTraffic = SeenMessages::read(fixture("k61-wire.pcap.gz"));
  return kTraffic;
}

// Returns the number of messages of the traffic that were traced, and compares each.
std::size_t compare(const SeenMessages& traced) {
  std::size_t found = 0;
  for (const SeenMessage& sent : traffic().messages) {
    const SeenMessage* const own = traced.find(sent.reply, sent.xid);
    if (own == nullptr) continue;
    ++found;
    SCOPED_TRACE(sent.id());
    EXPECT_EQ(own->proc, sent.proc);
    EXPECT_EQ(own->credit, sent.credit);
    EXPECT_EQ(own->reads, sent.reads);
    EXPECT_EQ(own->writes, sent.writes);
    EXPECT_EQ(own->has_reply_chunk, sent.has_reply_chunk);
    EXPECT_EQ(own->reply_chunk, sent.reply_chunk);
    EXPECT_EQ(own->has_invalidate, sent.has_invalidate);
    EXPECT_EQ(own->invalidate, sent.invalidate);
    if (sent.reads.empty()) {
      EXPECT_EQ(own->length, sent.length);
    }
    EXPECT_EQ(own->rpc.program, sent.rpc.program);
    EXPECT_EQ(own->rpc.procedure, sent.rpc.procedure);
  }
  return found;
}

TEST(BpfAgreement, EachMessageOfTheClientEqualsTheWire) {
  RecordingSink sink;
  kernel::Translator translator;
  for (const Line& line : lines_of(fixture("k61-client.bpf.txt.gz"))) {
    const bool received = line.kind == "REPLY";
    ASSERT_TRUE(
        translator.record(record_of(line, SCOPE_CLIENT, line.qpn, received, !received), sink));
  }
  translator.end_of_batch(sink);
  const SeenMessages client = seen(sink, "bpf-client.pcapng");
  ASSERT_EQ(client.failure, "");
  EXPECT_EQ(client.calls(), 78U);
  EXPECT_EQ(client.replies(), 78U);
  EXPECT_EQ(compare(client), 156U);
}

TEST(BpfAgreement, EachMessageOfTheServerEqualsTheWire) {
  RecordingSink sink;
  kernel::Translator translator;
  std::map<std::uint32_t, std::uint32_t> received_on;  // QP number by completion ID
  std::map<Bytes, std::uint32_t> called_on;            // QP number by XID
  for (const Line& line : lines_of(fixture("k61-server.bpf.txt.gz"))) {
    if (line.kind == "WC_RECV") {
      received_on[line.completion] = line.qpn;
      continue;
    }
    const bool received = line.kind == "DECODE";
    const Bytes xid(line.bytes.begin(), line.bytes.begin() + 4);
    if (received) called_on[xid] = received_on[line.completion];
    ASSERT_TRUE(
        translator.record(record_of(line, SCOPE_SERVER, called_on[xid], received, received), sink));
  }
  translator.end_of_batch(sink);
  const SeenMessages server = seen(sink, "bpf-server.pcapng");
  ASSERT_EQ(server.failure, "");
  EXPECT_EQ(server.calls(), 58U);
  EXPECT_EQ(server.replies(), 58U);
  EXPECT_EQ(compare(server), 116U);
}

}  // namespace
}  // namespace rpcrdma::kernel_test
