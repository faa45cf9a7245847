// Fills the tree of a message's fields, links fields to bytes, and offers filters for them.
#include "field_tree.h"

#include "filter_text.h"
#include "kind_text.h"
#include "sections.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/model/content.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::gui {

namespace {

using decode::FieldId;

constexpr std::size_t kMostItems = 20'000;  // a header can have thousands of segments
enum FieldRole : int { kField = Qt::UserRole, kValue, kItem, kName, kLiteral };
constexpr std::size_t kLongestLiteral = 64;  // bytes in a filter

const filter::FieldSet& fields_before() {
  static const filter::FieldSet set = filter::field_set({FieldId::kFrameNumber,
                                                         FieldId::kFrameTime,
                                                         FieldId::kConnection,
                                                         FieldId::kExchange,
                                                         FieldId::kKind,
                                                         FieldId::kReverse,
                                                         FieldId::kPeer,
                                                         FieldId::kSource,
                                                         FieldId::kSourceQpn,
                                                         FieldId::kSourcePort,
                                                         FieldId::kDestination,
                                                         FieldId::kDestinationQpn,
                                                         FieldId::kDestinationPort,
                                                         FieldId::kTunnelType,
                                                         FieldId::kTunnelSource,
                                                         FieldId::kTunnelDestination,
                                                         FieldId::kTunnelKey,
                                                         FieldId::kTunnelErspanSession,
                                                         FieldId::kSendLength,
                                                         FieldId::kFieldsOnly,
                                                         FieldId::kComplete,
                                                         FieldId::kBadIcrc});
  return set;
}

const filter::FieldSet& fields_behind() {
  static const filter::FieldSet set =
      filter::fields_of_answer() |
      filter::field_set({FieldId::kCreditRequested, FieldId::kCreditGranted, FieldId::kCreditInUse,
                         FieldId::kThresholdCall, FieldId::kThresholdReply,
                         FieldId::kInvalidatedHandle});
  return set;
}

class TreeSink final : public decode::Sink {
 public:
  TreeSink(FieldTree::Of of, std::vector<FieldTree::Extent>& extents,
           std::vector<QTreeWidgetItem*>& items)
      : of_(of), extents_(extents), items_(items) {}

  void begin(QTreeWidgetItem* root) { stack_ = {root}; }

  void open(FieldId id, std::size_t offset, std::size_t length, std::string_view summary) override {
    stack_.push_back(add(id, offset, length, QString::fromUtf8(summary.data(), size(summary)), {}));
  }
  void close() override {
    if (stack_.size() > 1) stack_.pop_back();
  }
  void number(FieldId id, std::size_t offset, std::size_t length, std::uint64_t value,
              const char* name) override {
    const decode::FieldSpec& spec = decode::spec(id);
    QVariant raw = QVariant::fromValue<quint64>(value);
    QTreeWidgetItem* const item = add(
        id, offset, length, QString::fromStdString(decode::format_value(spec, value, name)), raw);
    const char* const known = name != nullptr ? name : decode::value_name(spec, value);
    if (known != nullptr) item->setData(0, kName, QString(known));
  }
  void bytes(FieldId id, std::size_t offset, std::size_t length, wire::Bytes value) override {
    constexpr std::size_t kShown = 256;
    std::string text =
        decode::format_bytes(decode::spec(id), value.first(std::min(value.size(), kShown)));
    if (value.size() > kShown) text += " ...";
    QTreeWidgetItem* const item = add(id, offset, length, QString::fromStdString(text), {});
    const decode::FieldType type = decode::spec(id).type;
    if (type == decode::FieldType::kAddress || type == decode::FieldType::kIpv6) {
      item->setData(0, kLiteral, QString::fromStdString(text));
    } else if (!value.empty() && value.size() <= kLongestLiteral) {
      const QByteArray raw(reinterpret_cast<const char*>(value.data()), size(value));
      item->setData(0, kLiteral, QString::fromLatin1(raw.toHex(':')));
    }
  }
  void text(FieldId id, std::size_t offset, std::size_t length, std::string_view value) override {
    QTreeWidgetItem* const item =
        add(id, offset, length, QString::fromStdString(decode::escape_text(value)), {});
    if (value.size() > 4 * kLongestLiteral) return;
    item->setData(0, kLiteral,
                  decode::spec(id).values.empty() ? filter_string(std::string(value))
                                                  : QString::fromUtf8(value.data(), size(value)));
  }
  void error(const wire::DecodeError& e) override {
    QTreeWidgetItem* const item =
        add(FieldId::kMalformed, e.offset, 0, QString::fromStdString(wire::describe(e)), {});
    if (item != nullptr) item->setForeground(1, QColor(220, 50, 47));
  }

 private:
  static qsizetype size(std::string_view s) { return static_cast<qsizetype>(s.size()); }
  static qsizetype size(wire::Bytes b) { return static_cast<qsizetype>(b.size()); }

  QTreeWidgetItem* add(FieldId id, std::size_t offset, std::size_t length, const QString& value,
                       const QVariant& raw) {
    QTreeWidgetItem* const parent = stack_.back();
    if (items_.size() >= kMostItems) return parent;
    const decode::FieldSpec& spec = decode::spec(id);
    auto* const item = new QTreeWidgetItem(parent, {QString(spec.label), value});
    const int number = static_cast<int>(items_.size());
    item->setData(0, kField, static_cast<int>(id));
    item->setData(0, kItem, number);
    if (raw.isValid()) item->setData(0, kValue, raw);
    const QString help = field_help(id);
    item->setToolTip(0, help);
    item->setToolTip(1, help);
    extents_.push_back({length != 0 ? of_ : FieldTree::Of::kNone, offset, length, number});
    items_.push_back(item);
    return item;
  }

  FieldTree::Of of_;
  std::vector<FieldTree::Extent>& extents_;
  std::vector<QTreeWidgetItem*>& items_;
  std::vector<QTreeWidgetItem*> stack_;
};

}  // namespace

FieldTree::FieldTree(QWidget* parent) : QTreeWidget(parent) {
  setColumnCount(2);
  setHeaderLabels({tr("Field"), tr("Value")});
  setUniformRowHeights(true);
  setAlternatingRowColors(true);
  setAccessibleName(tr("Fields of the message"));
  header()->setStretchLastSection(true);
  header()->resizeSection(0, fontMetrics().averageCharWidth() * 34);
  connect(this, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (showing_ || item == nullptr) return;
    const QVariant number = item->data(0, kItem);
    if (number.isValid()) {
      Q_EMIT field_selected(extents_[static_cast<std::size_t>(number.toInt())]);
    }
  });
  connect(this, &QTreeWidget::itemActivated, this, &FieldTree::open);
}

void FieldTree::show_message(const index::Excerpt::Message* message) {
  showing_ = true;
  clear();
  extents_.clear();
  items_.clear();
  if (message != nullptr) {
    const model::Message& m = message->message;
    filter::Inputs in;
    in.message = &m;
    in.call = message->call.get();
    in.connection = message->connection;
    in.sender = &message->sender;
    in.receiver = &message->receiver;
    in.reverse = message->reverse;
    in.thresholds = message->thresholds;
    TreeSink sink(Of::kSend, extents_, items_);
    auto* const known = new QTreeWidgetItem(
        this, {tr("Message"), tr("%1, frame %2").arg(kind_text(m.kind)).arg(m.frame)});
    sink.begin(known);
    filter::model_fields(in, fields_before(), sink);
    const decode::ProcedureId id = model::procedure_of(m.rpc);
    const decode::ProcedureId* const call =
        m.kind == model::Kind::kReply && m.rpc.known ? &id : nullptr;
    auto* const header =
        new QTreeWidgetItem(this, {tr("Send"), model::is_absent(m, roce::kAbsentLengths)
                                                   ? tr("length unknown")
                                                   : tr("%1 bytes").arg(m.wire_length)});
    sink.begin(header);
    model::decode_content(m, sink);
    if (!message->rebuilt.empty()) {
      auto* const whole = new QTreeWidgetItem(
          this, {tr("Whole RPC message"),
                 tr("%1 bytes, with its chunks inserted").arg(message->rebuilt.size())});
      TreeSink rpc(Of::kRpc, extents_, items_);
      rpc.begin(whole);
      decode::decode_rpc_message(message->rebuilt, rpc, call);
    } else if (message->incomplete != nullptr) {
      new QTreeWidgetItem(this, {tr("Whole RPC message"), QString(message->incomplete)});
    }
    auto* const concluded = new QTreeWidgetItem(this, {tr("Conclusions"), QString()});
    sink.begin(concluded);
    filter::model_fields(in, fields_behind(), sink);
    expandToDepth(2);
  }
  showing_ = false;
}

void FieldTree::select(int item) {
  if (item < 0 || static_cast<std::size_t>(item) >= items_.size()) return;
  QTreeWidgetItem* const at = items_[static_cast<std::size_t>(item)];
  for (QTreeWidgetItem* p = at->parent(); p != nullptr; p = p->parent()) p->setExpanded(true);
  setCurrentItem(at);
  scrollToItem(at);
}

QString FieldTree::copy() const {
  QString out;
  const std::function<void(const QTreeWidgetItem*, int)> write = [&](const QTreeWidgetItem* item,
                                                                     int depth) {
    out += QString(depth * 2, ' ') + item->text(0);
    if (!item->text(1).isEmpty()) out += ": " + item->text(1);
    out += '\n';
    for (int i = 0; i < item->childCount(); ++i) write(item->child(i), depth + 1);
  };
  if (const QTreeWidgetItem* const item = currentItem()) write(item, 0);
  return out;
}

void FieldTree::open(QTreeWidgetItem* item) {
  const QVariant field = item->data(0, kField);
  if (!field.isValid()) return;
  const decode::FieldSpec& spec = decode::spec(static_cast<FieldId>(field.toInt()));
  if (spec.type == decode::FieldType::kFrame) {
    Q_EMIT frame_wanted(item->data(0, kValue).toULongLong());
  }
}

void FieldTree::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(copy());
    return;
  }
  QTreeWidget::keyPressEvent(event);
}

QString FieldTree::value() const {
  const QTreeWidgetItem* const item = currentItem();
  return item != nullptr ? item->text(1) : QString();
}

std::vector<Place::Test> FieldTree::tests() const {
  const QTreeWidgetItem* const item = currentItem();
  if (item == nullptr || !item->data(0, kField).isValid()) return {};
  const auto id = static_cast<FieldId>(item->data(0, kField).toInt());
  if (!filter::is_filter_field(id)) return {};
  const decode::FieldSpec& spec = decode::spec(id);
  std::vector<Place::Test> tests;
  const QVariant number = item->data(0, kValue);
  const QVariant text = item->data(0, kLiteral);
  if (number.isValid()) {
    const std::string name = item->data(0, kName).toString().toStdString();
    tests.push_back({spec.name, filter_number(spec, number.toULongLong(), name)});
  } else if (text.isValid()) {
    tests.push_back({spec.name, text.toString()});
  }
  // A value that a filter cannot have, such as bytes without end, is left out.
  std::erase_if(
      tests, [](const Place::Test& test) { return !filter::compile(test.text().toStdString()); });
  tests.push_back({spec.name, {}});
  return tests;
}

void FieldTree::contextMenuEvent(QContextMenuEvent* event) {
  if (event->reason() == QContextMenuEvent::Keyboard) {
    if (currentItem() == nullptr) return;
    Q_EMIT menu_wanted(viewport()->mapToGlobal(visualItemRect(currentItem()).bottomLeft()));
    return;
  }
  QTreeWidgetItem* const item = itemAt(event->pos());
  if (item == nullptr) return;
  setCurrentItem(item);
  Q_EMIT menu_wanted(event->globalPos());
}

}  // namespace rpcrdma::gui
