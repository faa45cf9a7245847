#include "checks.h"

#include <rpcrdma/rules/checker.h>

namespace rpcrdma::rules {

struct Checker::Impl {
  explicit Impl(Findings& f) : findings(f) {}

  Findings& findings;
  const roce::Tracker* tracker = nullptr;
  const model::Model* model = nullptr;

  [[nodiscard]] Scene scene(const model::Message& m) const {
    return {findings, tracker->connection(m.connection), model->connection(m.connection),
            model->reverse(m)};
  }
};

Checker::Checker(Findings& findings) : impl_(std::make_unique<Impl>(findings)) {}
Checker::~Checker() = default;

void Checker::attach(const roce::Tracker& tracker, const model::Model& model) {
  impl_->tracker = &tracker;
  impl_->model = &model;
  impl_->findings.attach(tracker, model);
}

void Checker::finish() {
  impl_->findings.finish();
}

void Checker::on_message(const model::Message& m, const model::Call* call) {
  (void)call;
  const Scene scene = impl_->scene(m);
  check_header(m, scene);
  impl_->findings.message_seen(scene.connection);
}

void Checker::on_identified(const model::Call& call) {
  (void)call;
}

void Checker::on_call_end(const model::Call& call, const model::Message* answer) {
  (void)call, (void)answer;
}

void Checker::on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
                    const roce::PacketMeta& meta) {
  (void)connection, (void)sender, (void)mad, (void)meta;
}

void Checker::on_open(const roce::Connection& connection) {
  (void)connection;
}

void Checker::on_close(const roce::Connection& connection) {
  impl_->findings.connection_closed(connection);
}

void Checker::on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                         std::uint32_t psn, const roce::PacketMeta& meta) {
  (void)connection, (void)sender, (void)aeth, (void)psn, (void)meta;
}

void Checker::on_operation(const roce::Connection& connection, const roce::Operation& op,
                           const model::Call* call, std::uint32_t segment) {
  (void)connection, (void)op, (void)call, (void)segment;
}

void Checker::on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                               const model::Call* call, std::uint32_t segment) {
  (void)connection, (void)op, (void)call, (void)segment;
}

}  // namespace rpcrdma::rules
