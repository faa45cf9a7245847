// Tests that fields decoded from the bytes of a message equal those of the model.
#include <algorithm>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::report {
namespace {

using decode::FieldId;

class NumberSink : public decode::Sink {
 public:
  void open(FieldId id, std::size_t, std::size_t, std::string_view) override {
    values[id].push_back(0);
  }
  void close() override {}
  void number(FieldId id, std::size_t, std::size_t, std::uint64_t value, const char*) override {
    values[id].push_back(value);
  }
  void bytes(FieldId, std::size_t, std::size_t, wire::Bytes) override {}
  void text(FieldId, std::size_t, std::size_t, std::string_view) override {}
  void error(const wire::DecodeError&) override {}
  std::map<FieldId, std::vector<std::uint64_t>> values;
};

bool is_of_files(FieldId field) {
  return field == FieldId::kNfsFh || field == FieldId::kNfsOffset || field == FieldId::kNfsCount;
}

class Comparer : public model::Observer {
 public:
  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    NumberSink of_bytes;
    NumberSink of_model;
    const decode::ProcedureId id{m.rpc.program, m.rpc.version, m.rpc.procedure};
    decode::decode_message(m.bytes, of_bytes,
                           m.kind == model::Kind::kReply && m.rpc.known ? &id : nullptr);
    const filter::FieldSet all = filter::FieldSet().set();
    filter::model_fields(session.context().inputs(m, event.call, 0), all, of_model);
    for (const auto& [field, values] : of_bytes.values) {
      if (!filter::fields_of_model()[static_cast<std::size_t>(field)]) continue;
      ++compared;
      if (field == FieldId::kNfsOp && m.kind == model::Kind::kReply) {
        // The results end at the operation that failed; the model has all operations of the Call.
        auto& ops = of_model.values[field];
        ASSERT_LE(values.size(), ops.size());
        ops.resize(values.size());
      }
      if (m.kind == model::Kind::kReply && is_of_files(field)) {
        // The model has those of the Call, too.
        for (const std::uint64_t value : values) {
          EXPECT_THAT(of_model.values[field], ::testing::Contains(value))
              << "frame " << m.frame << " " << decode::spec(field).name;
        }
        continue;
      }
      EXPECT_EQ(of_model.values[field], values)
          << "frame " << m.frame << " " << decode::spec(field).name;
    }
  }
  session::Session session{{.model = {.keep_bytes = true}}, {.after_rules = {this}}};
  std::size_t compared = 0;
};

class Inputs : public ::testing::TestWithParam<const char*> {};

TEST_P(Inputs, ModelAndBytesAgree) {
  Comparer comparer;
  auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + GetParam());
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_TRUE(comparer.session.pipeline().run(**source, {}, 1));
  EXPECT_GT(comparer.compared, 500U);
}

INSTANTIATE_TEST_SUITE_P(Captures, Inputs,
                         ::testing::Values("linux-nfs3.pcap", "linux-nfs41.pcap",
                                           "linux-deleg.pcap"),
                         [](const auto& file) {
                           std::string name = file.param;
                           name = name.substr(0, name.find('.'));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rpcrdma::report
