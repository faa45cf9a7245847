// Columns and the fields that they show.
#include "cell_tests.h"

#include "filter_text.h"

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/model/content.h>

namespace rpcrdma::gui {

namespace {

Place::Test number_test(const char* field, std::uint64_t value, const char* name = nullptr) {
  const decode::FieldSpec& spec = *decode::find_field(field);
  return {field, filter_number(spec, value, name != nullptr ? name : "")};
}

const char* type_of(const index::MessageRow& row) {
  model::Message m;
  m.kind = row.kind;
  m.version = row.version;
  m.proc = row.proc;
  m.dialect = row.dialect;
  return model::type_name(m);
}

// Of "10.77.0.2 QP 17".
std::vector<Place::Test> end_tests(const std::string& end, bool source) {
  std::vector<Place::Test> tests;
  const std::size_t space = end.find(' ');
  const QString address = QString::fromStdString(end.substr(0, space));
  if (address.isEmpty()) return tests;
  tests.push_back({source ? "rpcrdma.src" : "rpcrdma.dst", address});
  tests.push_back({"rpcrdma.addr", address});
  return tests;
}

// Names of a program and its procedures, as filters know them.
std::vector<Place::Test> procedure_tests(const index::ProcedureText& procedure) {
  const model::RpcInfo& rpc = procedure.rpc;
  std::vector<Place::Test> tests;
  // Of "NFS v4 READ": the operation that the Call is about.
  const QString operation = QString::fromStdString(procedure.label).section(' ', -1);
  if (filter::compile("nfs.op == " + operation.toStdString())) {
    tests.push_back({"nfs.op", operation});
  }
  const auto add_name = [&tests](const char* field, const char* name) {
    if (name != nullptr) tests.push_back({field, filter_string(name)});
  };
  const decode::ProcedureId id = model::procedure_of(rpc);
  add_name("rpc.procedure_name", decode::procedure_name(id.program, id.version, id.procedure));
  tests.push_back(number_test("rpc.program", rpc.program,
                              decode::program_name(rpc.program, rpc.version, rpc.procedure)));
  tests.push_back(number_test("rpc.version", rpc.version));
  return tests;
}

}  // namespace

std::vector<Place::Test> tests_of(const index::Content& content, std::uint64_t id, Column column) {
  if (id == 0 || id > content.rows.size()) return {};
  const index::MessageRow& row = content.rows[id - 1];
  using Row = index::MessageRow;
  switch (column) {
    case Column::kFrame:
      return {number_test("frame.number", row.frame)};
    case Column::kConnection:
      return {number_test("rpcrdma.connection", content.connection_id(row.connection))};
    case Column::kSource:
    case Column::kDestination: {
      const index::ConnectionInfo* const c = content.connection(row.connection);
      if (c == nullptr) return {};
      const std::size_t sender = content.sender(row);
      const bool source = column == Column::kSource;
      return end_tests(c->end[source ? sender : 1 - sender], source);
    }
    case Column::kKind: {
      std::vector<Place::Test> tests{{"rpcrdma.kind", model::kind_name(row.kind)}};
      if (content.reverse(row)) tests.push_back({"rpcrdma.reverse", "true"});
      return tests;
    }
    case Column::kXid:
      return {number_test("rpcrdma.xid", row.xid)};
    case Column::kType:
      if (!row.is(Row::kHeader)) return {};
      return {number_test("rpcrdma.proc", row.proc, type_of(row))};
    case Column::kCredit:
      if (row.is(Row::kNoCredit)) return {};
      return {number_test("rpcrdma.credit", row.credit)};
    case Column::kRequested:
      if (row.is(Row::kNoRequested)) return {};
      return {number_test("rpcrdma.credit.requested", row.requested)};
    case Column::kGranted:
      if (row.is(Row::kNoGranted)) return {};
      return {number_test("rpcrdma.credit.granted", row.granted)};
    case Column::kInUse:
      return {number_test("rpcrdma.credit.in_use", row.in_use)};
    case Column::kLength:
      if (row.is(Row::kNoLength)) return {};
      return {number_test("rpcrdma.length", row.length)};
    case Column::kMoved:
      if (!row.is(Row::kOfCall)) return {};
      return {number_test("rpcrdma.moved", row.moved)};
    case Column::kOperations:
      if (!row.is(Row::kOfCall)) return {};
      return {number_test("rpcrdma.operations", row.operations)};
    case Column::kLatency:
      if (row.latency_ns < 0) return {};
      return {number_test("rpcrdma.latency", static_cast<std::uint64_t>(row.latency_ns))};
    case Column::kProcedure:
      if (row.procedure == 0) return {};
      return procedure_tests(content.procedures[row.procedure]);
    case Column::kStatus:
      if (row.outcome == 0) return {};
      return {{"rpc.status", filter_string(content.outcomes[row.outcome].text)}};
    case Column::kFinding: {
      std::vector<Place::Test> tests;
      const auto [begin, end] = content.kinds_of.equal_range(id);
      for (auto it = begin; it != end; ++it) {
        tests.push_back({"rpcrdma.finding", filter_string(content.kinds[it->second].rule->name)});
      }
      if (!tests.empty()) tests.push_back({"rpcrdma.finding", {}});
      return tests;
    }
    case Column::kReadBytes:
      if (row.read_segments == 0) return {};
      return {{"rpcrdma.read", {}}};
    case Column::kWriteBytes:
      if (row.write_chunks == 0) return {};
      return {{"rpcrdma.write", {}}};
    case Column::kReplyBytes:
      if (!row.is(Row::kReplyChunk)) return {};
      return {{"rpcrdma.reply", {}}};
    default:
      return {};
  }
}

}  // namespace rpcrdma::gui
