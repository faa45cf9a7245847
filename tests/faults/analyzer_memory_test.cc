// The analyzer runs out of memory at each allocation in turn: every file format, reports in every
// form, single messages, filters, merges and timelines. It must not crash or leak, an error says
// what happened, and what is shown in spite of it is complete. Afterwards the same works again.
#include "../../analyzer/capture/compress_for_tests.h"
#include "support/counting_new.h"
#include "support/trace_builder.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/message_json.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/report_csv.h>
#include <rpcrdma/report/report_html.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>
#include <rpcrdma/session/align.h>
#include <rpcrdma/timeline/perfetto.h>
#include <rpcrdma/timeline/qlog.h>
#include <rpcrdma/timeline/timeline.h>

namespace rpcrdma::faults {
namespace {

using capture::ByteVector;
using wire::testing::FailingEverywhere;
using wire::testing::FailingNew;
using wire::testing::live_bytes;

// What a front end shows of a run.
struct Outcome {
  std::string shown;
  std::string error;  // empty: none
};
using Scenario = std::function<Outcome()>;

// As the end of each command: what no library could return as an error.
Outcome run(const Scenario& scenario) {
  try {
    return scenario();
  } catch (const std::bad_alloc&) {
    return {{}, base::kOutOfMemory};
  }
}

// All of the first ones, and samples of more.
std::size_t after(std::size_t allocation, std::size_t all) {
  constexpr std::size_t kEach = 60, kSamples = 50;
  return allocation < kEach ? allocation + 1 : allocation + 1 + all / kSamples;
}

void fail_each(const Scenario& scenario, const std::vector<std::size_t>& failures) {
  const Outcome right = run(scenario);  // fills static memory, too
  ASSERT_EQ(right.error, "");
  ASSERT_NE(right.shown, "");
  const std::size_t all = wire::testing::allocations_in([&] { (void)run(scenario); });
  for (const std::size_t fail : failures) {
    bool hit = true;
    for (std::size_t n = 0; hit; n = after(n, all)) {
      const std::size_t before = live_bytes();
      FailingNew failing(n, fail);
      bool was_right = false;
      {
        const Outcome outcome = failing.in([&] { return run(scenario); });
        failing.stop();
        hit = failing.hit();
        was_right = outcome.error.empty()
                        ? outcome.shown == right.shown
                        : outcome.error.find(base::kOutOfMemory) != std::string::npos;
        ASSERT_TRUE(was_right) << "at allocation " << n << " of " << all << ": " << outcome.error;
        ASSERT_TRUE(hit || outcome.error.empty()) << outcome.error;
      }
      ASSERT_EQ(live_bytes(), before) << "leaks at allocation " << n << " of " << all;
    }
  }
  EXPECT_EQ(run(scenario).shown, right.shown);
}
void fail_each(const Scenario& scenario) {
  fail_each(scenario, {1, FailingNew::kAll});
}

std::string read(const std::string& name) {
  std::ifstream in(std::string(RPCRDMA_TEST_CAPTURES "/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
ByteVector bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}
ByteVector recording() {
  trace_reader::testing::TraceBuilder t;
  t.begin("nfsd", "server on 192.0.2.1");
  trace_reader::testing::emit_plain_connection(t, 7);
  t.emit(7, trace::Receives{32, 32});
  t.lose(9);
  return t.pcapng();
}

Outcome fails(const std::string& error) {
  return {{}, error};
}

std::string all_forms(const report::Report& r) {
  std::string text;
  const auto write = [&](std::string_view piece) { text += piece; };
  report::write_text(r, {.colour = true, .all = true}, write);
  report::write_json(r, write);
  report::write_html(r, {"capture", "0"}, write);
  for (const report::Table table : report::kTables) report::write_csv(r, table, write);
  return text;
}

std::string json_of(const report::Report& r) {
  std::string text;
  report::write_json(r, [&](std::string_view piece) { text += piece; });
  return text;
}

Outcome analyze(const ByteVector& file, unsigned threads = 1) {
  const auto source = capture::open_memory(file);
  if (!source) return fails(source.error().message);
  report::Analysis analysis({.limits = {}});
  if (const auto done = analysis.pipeline().run(**source, {}, threads); !done) {
    return fails(done.error().message);
  }
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  return {all_forms(analysis.report()), (*source)->stats().damage};
}

// Each message and event in each form, as `decode` prints them. Not events as JSON: destructors of
// nlohmann::json need memory.
class Printer : public model::Observer, public trace_reader::Observer {
 public:
  explicit Printer(const ByteVector& file, const std::string& filter)
      : filter_(filter::compile(filter)) {
    const auto source = capture::open_memory(file);
    if (!filter_ || !source) {
      out.error = filter_ ? source.error().message : filter_.error().message;
      return;
    }
    model::ModelOptions options;
    options.keep_bytes = options.keep_chunks = true;
    report::Analysis analysis({.model = options, .observers = {this}, .event_observers = {this}});
    context_ = &analysis.context();
    const auto done = analysis.pipeline().run(**source, {}, 1);
    if (!done) {
      out.error = done.error().message;
      return;
    }
    analysis.pipeline().finish();
  }

  void on_event(const trace_reader::Event& event) override {
    out.shown += report::event_line(event, {});
    out.shown += report::event_tree(event, *context_);
  }
  void on_message(const model::MessageSeen& event) override {
    filter::Inputs inputs;
    inputs.message = &event.message;
    inputs.call = event.call;
    if (!filter_->matches(inputs)) return;
    out.shown += report::message_line(event.message, event.call, *context_, {});
    out.shown += report::message_tree(event.message, event.call, *context_);
    report::write_message(json_, event.message, event.call, *context_);
    out.shown += json_.take();
  }

  Outcome out;

 private:
  tl::expected<filter::Filter, filter::FilterError> filter_;
  const report::Context* context_ = nullptr;
  report::JsonWriter json_;
};

Outcome timeline_of(const ByteVector& file,
                    std::unique_ptr<timeline::Format> (*make)(timeline::Write)) {
  Outcome out;
  const auto source = capture::open_memory(file);
  if (!source) return fails(source.error().message);
  const auto format = make([&](std::string_view piece) { out.shown += piece; });
  timeline::Timeline timeline(*format);
  if (const auto done = timeline.pipeline().run(**source, {}, 1); !done) {
    return fails(done.error().message);
  }
  timeline.pipeline().finish();
  timeline.finish(0);
  return out;
}

class AnalyzerMemory : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Captures, AnalyzerMemory,
                         ::testing::Values("cases/ok-5-getattr.pcap", "rules/HDR-01.pcap",
                                           "cases/b34-iwarp-nfs.pcap", "cases/native-eth.erf",
                                           "cases/tunnel-or-link-vxlan.pcap",
                                           "cases/protocol-h_s15_v2_errors.pcapng",
                                           "cases/b56-same-qpn-reused-no-dreq.pcap"));

TEST_P(AnalyzerMemory, AReportIsRightOrAnError) {
  const ByteVector file = bytes_of(read(GetParam()));
  ASSERT_FALSE(file.empty());
  fail_each([&] { return analyze(file); });
}

TEST_P(AnalyzerMemory, MessagesAreRightOrAnError) {
  const ByteVector file = bytes_of(read(GetParam()));
  fail_each([&] {
    Printer printer(
        file, "rpcrdma.version >= 1 && !(rpcrdma.xid == 7 || rpc.program_name contains \"x\")");
    return std::move(printer.out);
  });
}

TEST(AnalyzerMemory, ARecordingIsRightOrAnError) {
  const ByteVector file = recording();
  fail_each([&] { return analyze(file); });
  fail_each([&] {
    Printer printer(file, "rpcrdma.version == 1");
    return std::move(printer.out);
  });
}

TEST(AnalyzerMemory, CompressedFiles) {
  const ByteVector file = bytes_of(read("rules/HDR-01.pcap"));
  for (const ByteVector& packed : {capture::gzip(file), capture::zstd(file), capture::xz(file),
                                   capture::bzip2(file), capture::lz4(file)}) {
    fail_each([&]() -> Outcome {
      const auto source = capture::open_memory(packed);
      if (!source) return fails(source.error().message);
      Outcome out;
      capture::Frame frame;
      for (;;) {
        const auto more = (*source)->next(frame);
        if (!more) return fails(more.error().message);
        if (!*more) break;
        out.shown.append(reinterpret_cast<const char*>(frame.data.data()), frame.data.size());
      }
      out.error = (*source)->stats().damage;
      return out;
    });
  }
}

TEST(AnalyzerMemory, SeveralFiles) {
  const std::vector<std::string> paths{RPCRDMA_TEST_CAPTURES "/cases/ok-5-getattr.pcap",
                                       RPCRDMA_TEST_CAPTURES "/rules/HDR-01.pcap",
                                       RPCRDMA_TEST_CAPTURES "/cases/native-eth.erf"};
  fail_each([&]() -> Outcome {
    const auto source = session::open_aligned(paths);
    if (!source) return fails(source.error().message);
    report::Analysis analysis;
    if (const auto done = analysis.pipeline().run(**source, {}, 1); !done) {
      return fails(done.error().message);
    }
    analysis.pipeline().finish();
    analysis.finish((*source)->stats(), paths.size());
    return {json_of(analysis.report()), {}};
  });
}

TEST(AnalyzerMemory, ReportsAreReadAndMerged) {
  std::vector<std::string> texts;
  for (const char* name : {"cases/ok-5-getattr.pcap", "rules/HDR-01.pcap"}) {
    const ByteVector file = bytes_of(read(name));
    const auto source = capture::open_memory(file).value();
    report::Analysis analysis;
    ASSERT_TRUE(analysis.pipeline().run(*source, {}, 1));
    analysis.pipeline().finish();
    analysis.finish(source->stats());
    texts.push_back(json_of(analysis.report()));
  }
  fail_each([&]() -> Outcome {
    const auto merged =
        report::merge(texts.size(), [&](std::size_t i) { return report::read_json(texts[i]); });
    if (!merged) return fails(merged.error());
    return {all_forms(*merged), {}};
  });
}

TEST(AnalyzerMemory, Timelines) {
  const ByteVector file = bytes_of(read("cases/ok-5-getattr.pcap"));
  fail_each([&] { return timeline_of(file, timeline::make_perfetto); });
  fail_each([&] { return timeline_of(file, timeline::make_qlog); });
}

// Without a regular expression: RE2 itself leaks when it has no memory.
TEST(AnalyzerMemory, Filters) {
  fail_each([]() -> Outcome {
    const auto compiled = filter::compile(
        "rpcrdma.xid in {1, 2..4} && (nfs.name contains \"a\" || rpc.program_name contains \"x\") "
        "&& "
        "!(ip.addr == 192.0.2.0/24) && rpcrdma.latency > 3ms");
    if (!compiled) return fails(compiled.error().message);
    return {"compiled", {}};
  });
}

// A capture of several megabytes, read by several threads.
TEST(AnalyzerMemory, TeamsOfThreads) {
  const std::string one = read("linux-nfs41.pcap");
  constexpr std::size_t kHeader = 24;
  std::string many = one;
  while (many.size() < (5U << 20)) many += one.substr(kHeader);
  const ByteVector file = bytes_of(many);
  const auto scenario = [&]() -> Outcome {
    const auto source = capture::open_memory(file);
    if (!source) return fails(source.error().message);
    report::Analysis analysis;
    if (const auto done = analysis.pipeline().run(**source, {}, 3); !done) {
      return fails(done.error().message);
    }
    analysis.pipeline().finish();
    analysis.finish((*source)->stats());
    return {json_of(analysis.report()), {}};
  };
  const Outcome right = run(scenario);
  ASSERT_EQ(right.error, "");
  const std::size_t all = wire::testing::allocations_in([&] { (void)run(scenario); });
  constexpr std::size_t kSamples = 25;
  for (std::size_t n = 1; n < all; n += n < 40 ? 4 : all / kSamples + 1) {
    const std::size_t before = live_bytes();
    {
      Outcome outcome;
      {
        const FailingEverywhere failing(n);
        outcome = run(scenario);
      }
      if (outcome.error.empty()) {
        ASSERT_EQ(outcome.shown, right.shown) << "at allocation " << n;
      } else {
        ASSERT_THAT(outcome.error, ::testing::HasSubstr(base::kOutOfMemory)) << n;
      }
    }
    ASSERT_EQ(live_bytes(), before) << "leaks at allocation " << n;
  }
  EXPECT_EQ(run(scenario).shown, right.shown);
}

}  // namespace
}  // namespace rpcrdma::faults
