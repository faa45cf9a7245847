// Compares the window's data with one pass of the analyzer over the same capture: rows, filters,
// and stretches that are read again.
#include "index_for_tests.h"

#include <map>

#include <gmock/gmock.h>

#include <rpcrdma/index/excerpt.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::index {
namespace {

using testing::Loaded;

// Collects the analyzer's results for each message.
class Reference final : public model::Observer {
 public:
  explicit Reference(const std::string& path) {
    auto source = capture::open_file(path);
    if (!source) return;
    static_cast<void>(session_.pipeline().run(**source, {}, 1));
    session_.pipeline().finish();
  }
  struct One {
    model::Message message;
    std::string tree;
    bool over = true;
  };
  std::map<std::uint64_t, One> all;

  [[nodiscard]] const report::Context& context() const { return session_.context(); }
  [[nodiscard]] const session::Pipeline& pipeline() const { return session_.pipeline(); }

  // Called for each message when nothing more will be learned about it.
  std::function<void(const model::Message&, const model::Call*)> whole;

 private:
  void note(const model::Message& m, const model::Call* call) {
    One& one = all[m.id];
    one.message = m;
    one.tree = report::message_tree(m, call, session_.context());
  }
  void on_message(const model::MessageSeen& event) override { note(event.message, event.call); }
  void on_identified(const model::Call& call) override { note(call.message, &call); }
  void on_call_end(const model::CallEnded& event) override {
    note(event.call.message, &event.call);
  }
  void on_reply_read(const model::ReplyRead& event) override { note(event.reply, &event.call); }

  session::Session session_{{.model = {.keep_bytes = true}}, {.after_rules = {this}}};
};

// Reads a capture once for all tests that use it.
const Reference& reference_of(const std::string& path) {
  static std::map<std::string, std::unique_ptr<Reference>> read;
  std::unique_ptr<Reference>& one = read[path];
  if (one == nullptr) one = std::make_unique<Reference>(path);
  return *one;
}

class Captures : public ::testing::TestWithParam<std::string> {};

TEST_P(Captures, EveryMessageHasARowThatShowsItsParts) {
  const Reference& reference = reference_of(GetParam());
  const Loaded loaded(GetParam());
  loaded.store.read([&](const Content& c) {
    ASSERT_EQ(c.rows.size(), reference.all.size());
    EXPECT_EQ(c.progress.error, "");
    for (const auto& [id, one] : reference.all) {
      const MessageRow& row = c.rows[id - 1];
      const model::Message& m = one.message;
      SCOPED_TRACE("message " + std::to_string(id));
      EXPECT_EQ(row.frame, m.frame);
      EXPECT_EQ(row.time_ns, m.time_ns);
      EXPECT_EQ(row.xid, m.xid);
      EXPECT_EQ(row.kind, m.kind);
      EXPECT_EQ(row.credit, m.credit);
      EXPECT_EQ(row.latency_ns, m.latency_ns);
      EXPECT_EQ(row.match != 0 ? c.rows[row.match - 1].frame : 0, m.match_frame);
      EXPECT_EQ(row.in_use, m.credits.in_use);
      EXPECT_EQ(row.procedure != 0 ? c.procedures[row.procedure].whole : "",
                report::rpc_label(m.rpc));
      if (m.kind == model::Kind::kReply) {
        EXPECT_EQ(row.outcome != 0 ? c.outcomes[row.outcome].text : "",
                  report::reply_status(m.rpc));
      }
      EXPECT_EQ(c.connection_id(row.connection), reference.context().connection_id(m.connection));
    }
  });
}

TEST_P(Captures, CreditsAreThoseOfTheMessages) {
  const Reference& reference = reference_of(GetParam());
  const Loaded loaded(GetParam());
  loaded.store.read([&](const Content& c) {
    std::uint64_t messages = 0;
    for (const auto& log : c.credits) {
      for (std::size_t i = 0; log != nullptr && i < log->size(); ++i) {
        const CreditEntry& e = log->entry(i);
        if (e.message == 0) continue;
        ++messages;
        EXPECT_EQ(e.in_use, c.rows[e.message - 1].in_use);
        EXPECT_EQ(e.granted, c.rows[e.message - 1].granted);
      }
    }
    std::uint64_t with_credits = 0;
    for (const auto& [id, one] : reference.all) {
      with_credits += one.message.kind == model::Kind::kCall ||
                      one.message.kind == model::Kind::kReply ||
                      one.message.kind == model::Kind::kError;
    }
    EXPECT_EQ(messages, with_credits);
  });
}

std::string json(const report::Report& report) {
  std::string text;
  report::write_json(report, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST_P(Captures, TheReportIsThatOfAnalyze) {
  report::Analysis analysis;
  auto source = capture::open_file(GetParam());
  ASSERT_TRUE(source);
  ASSERT_TRUE(analysis.pipeline().run(**source, {}, 1));
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  const Loaded loaded(GetParam());
  const auto report = loaded.store.read([](const Content& c) { return c.report; });
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(json(*report), json(analysis.report()));
  // The list of findings is the same, by rule and severity.
  std::map<std::pair<std::string, rules::Severity>, std::uint64_t> expected, found;
  for (const report::Finding& f : report->findings) expected[{f.rule, f.severity}] += f.count;
  loaded.store.read([&](const Content& c) {
    for (const FoundKind& kind : c.kinds) found[{kind.rule->name, kind.severity}] += kind.count;
  });
  EXPECT_EQ(found, expected);
}

TEST_P(Captures, AFilterTakesWhatItTakesOfTheWholeRead) {
  const Loaded loaded(GetParam());
  // Searches the rows; then the frames, by adding a condition that every message meets and that
  // rows cannot answer.
  for (const std::string text :
       {"rpcrdma.credit < 32", "rpcrdma.kind == \"call\"", "rpcrdma.proc == RDMA_NOMSG",
        "rpcrdma.latency > 0.0001", "nfs.op == READ", "rpc.status == \"ok\"",
        "rpcrdma.operations > 1 || rpcrdma.moved >= 4096", "!rpcrdma.match.frame",
        "rpcrdma.credit.in_use >= 2 && rpcrdma.connection == 1", "rpcrdma.finding",
        "rpc.program == NFS && rpc.procedure == 1", "rpcrdma.reverse", "rpcrdma.error",
        "rpcrdma.exchange == 3", "rpcrdma.xid in {0x1..0x80000000}"}) {
    const auto by_rows = testing::search(loaded, text);
    const auto by_frames =
        testing::search(loaded, "(" + text + ") && (rpcrdma.threshold.call || frame.number)");
    EXPECT_EQ(by_rows, by_frames) << text;
  }
}

TEST_P(Captures, AStretchReadAgainIsAsItWas) {
  const Reference& reference = reference_of(GetParam());
  const Loaded loaded(GetParam());
  const std::uint64_t count = loaded.store.read([](const Content& c) { return c.rows.size(); });
  const std::atomic<bool> never{false};
  // A prime step, so that all positions occur.
  const std::uint64_t apart = count > 400 ? 37 : 1;
  std::uint64_t looked = 0;
  std::uint64_t trees = 0;
  for (std::uint64_t id = 1; id <= count; id += apart) {
    const Stretch stretch = loaded.store.read([&](const Content& c) { return stretch_of(c, id); });
    const auto excerpt = read_excerpt(loaded.store, loaded.loading->frames(), stretch, never);
    ASSERT_TRUE(excerpt) << excerpt.error().message;
    ++looked;
    const Excerpt::Message* const m = excerpt->find(id);
    if (m == nullptr) {
      ADD_FAILURE() << "message " << id << " of frame " << reference.all.at(id).message.frame;
      continue;
    }
    const model::Message& was = reference.all.at(id).message;
    EXPECT_EQ(m->message.bytes, was.bytes);
    EXPECT_EQ(m->message.kind, was.kind);
    EXPECT_EQ(m->message.xid, was.xid);
    trees += m->message.match_frame == was.match_frame;
    EXPECT_EQ(m->message.match_frame, was.match_frame) << "message " << id;
    EXPECT_EQ(m->message.rpc.known, was.rpc.known) << "message " << id;
  }
  EXPECT_EQ(looked, trees);
}

std::string name(const ::testing::TestParamInfo<std::string>& info) {
  std::string text = info.param.substr(std::string(RPCRDMA_TEST_CAPTURES).size() + 1);
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(Files, Captures, ::testing::ValuesIn(testing::captures()), name);

}  // namespace
}  // namespace rpcrdma::index
