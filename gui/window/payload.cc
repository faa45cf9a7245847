#include "payload.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/model/rebuild.h>

namespace rpcrdma::gui {

namespace {

QString extract_name(const model::Message& of, const char* kind, std::uint32_t index) {
  return QString("%1-0x%2-%3-%4.bin")
      .arg(of.frame, 8, 10, QChar('0'))
      .arg(of.xid, 8, 16, QChar('0'))
      .arg(kind)
      .arg(index);
}

Payload chunk_payload(const model::Message& of, const model::CallChunk& chunk,
                      std::uint64_t length) {
  const char* const kind = model::chunk_list_name(chunk.list);
  Payload made;
  switch (chunk.list) {
    case model::ChunkList::kRead:
      made.title = PayloadDialog::tr("Read chunk %1").arg(chunk.index);
      break;
    case model::ChunkList::kWrite:
      made.title = PayloadDialog::tr("Write chunk %1").arg(chunk.index);
      break;
    case model::ChunkList::kReply:
      made.title = PayloadDialog::tr("Reply chunk");
      break;
    case model::ChunkList::kReplyRead:
      made.title = PayloadDialog::tr("Read chunk %1 of the Reply").arg(chunk.index);
      break;
  }
  made.file = extract_name(of, kind, chunk.index);
  made.length = length;
  const auto head = chunk.data.head();
  if (chunk.data.covers(length) && head.size() >= length) {
    const auto whole = head.first(static_cast<std::size_t>(length));
    made.bytes.assign(whole.begin(), whole.end());
  } else {
    made.missing = PayloadDialog::tr("only %L1 of %L2 bytes were seen")
                       .arg(std::min<std::uint64_t>(head.size(), length))
                       .arg(length);
  }
  return made;
}

Payload message_payload(const model::Message& of, const char* kind, const QString& title,
                        model::Rebuilt rebuilt, const char* why) {
  Payload made;
  made.title = title;
  made.file = extract_name(of, kind, 0);
  made.length = rebuilt.bytes.size();
  if (rebuilt.complete()) {
    made.bytes = std::move(rebuilt.bytes);
  } else {
    if (why == nullptr) why = model::incomplete_reason(rebuilt.incomplete);
    made.missing = why != nullptr ? QString(why) : PayloadDialog::tr("bytes are missing");
  }
  return made;
}

}  // namespace

std::vector<Payload> payloads_of(const index::Excerpt& excerpt, quint64 message) {
  std::vector<Payload> out;
  const index::Excerpt::Message* const selected = excerpt.find(message);
  if (selected == nullptr || selected->call == nullptr) return out;
  const model::Call& call = *selected->call;
  const index::Excerpt::Message* asked = nullptr;
  const index::Excerpt::Message* answer = nullptr;
  for (const index::Excerpt::Message& m : excerpt.messages) {
    if (m.call == nullptr || m.call->message.id != call.message.id) continue;
    if (m.message.kind == model::Kind::kCall) asked = &m;
    if (m.message.kind == model::Kind::kReply) answer = &m;
  }
  for (const model::CallChunk& chunk : call.chunks) {
    if (chunk.list != model::ChunkList::kRead) continue;
    if (chunk.moved == 0 && answer == nullptr) continue;
    out.push_back(chunk_payload(call.message, chunk, model::read_payload_length(call, chunk)));
  }
  if (answer != nullptr) {
    for (const model::CallChunk& chunk : call.chunks) {
      if (chunk.list == model::ChunkList::kRead) continue;
      const std::uint64_t length = model::result_payload_length(call, chunk, answer->message);
      if (length != 0) out.push_back(chunk_payload(answer->message, chunk, length));
    }
  }
  if (!model::is_absent(call.message, roce::kAbsentBytes)) {
    out.push_back(message_payload(call.message, "call", PayloadDialog::tr("Whole Call"),
                                  model::rebuild_call(call),
                                  asked != nullptr ? asked->incomplete : nullptr));
    if (answer != nullptr && !model::is_absent(answer->message, roce::kAbsentBytes)) {
      out.push_back(message_payload(answer->message, "reply", PayloadDialog::tr("Whole Reply"),
                                    model::rebuild_reply(call, answer->message),
                                    answer->incomplete));
    }
  }
  return out;
}

QString save_payload(const Payload& payload, const QString& path) {
  if (!payload.missing.isEmpty()) {
    return PayloadDialog::tr("%1 is not complete: %2").arg(payload.title, payload.missing);
  }
  const std::string_view bytes(reinterpret_cast<const char*>(payload.bytes.data()),
                               payload.bytes.size());
  const auto written = base::write_whole(
      path.toStdString(), [&](const base::Write& to) { to(bytes); }, {.mode = base::kFileMode});
  return written ? QString() : QString::fromStdString(written.error().message);
}

PayloadDialog::PayloadDialog(Document& document, QWidget* parent)
    : QDialog(parent),
      document_(document),
      message_(document.selected()),
      list_(new QListWidget(this)),
      note_(new QLabel(this)) {
  setObjectName("payload");
  setWindowTitle(tr("Export payload"));
  list_->setAccessibleName(tr("Data of the Call"));
  note_->setTextFormat(Qt::PlainText);
  note_->setWordWrap(true);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  save_ = buttons->addButton(tr("&Save as..."), QDialogButtonBox::ActionRole);
  save_->setDefault(true);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(save_, &QPushButton::clicked, this, &PayloadDialog::save);
  connect(list_, &QListWidget::currentRowChanged, this, &PayloadDialog::show_current);
  connect(list_, &QListWidget::itemActivated, this, &PayloadDialog::save);
  connect(&document_, &Document::excerpt_read, this, &PayloadDialog::show_payloads);
  connect(&document_, &Document::reset, this, &QDialog::reject);
  auto* const all = new QVBoxLayout(this);
  all->addWidget(list_);
  all->addWidget(note_);
  all->addWidget(buttons);
  resize(520, 280);
  show_payloads();
}

void PayloadDialog::show_payloads() {
  const auto excerpt = document_.excerpt();
  if (document_.selected() != message_) return;
  list_->clear();
  payloads_ = excerpt != nullptr ? payloads_of(*excerpt, message_) : std::vector<Payload>();
  for (const Payload& p : payloads_) {
    const QString bytes = tr("%L1 bytes").arg(p.length);
    list_->addItem(p.missing.isEmpty() ? tr("%1, %2").arg(p.title, bytes)
                                       : tr("%1: not complete").arg(p.title));
  }
  list_->setCurrentRow(payloads_.empty() ? -1 : 0);
  show_current();
  if (excerpt == nullptr) {
    note_->setText(tr("Reading the Call..."));
  } else if (payloads_.empty()) {
    note_->setText(tr("The message belongs to no Call that was seen, or its bytes were not."));
  }
}

void PayloadDialog::show_current() {
  const int row = list_->currentRow();
  const bool any = row >= 0 && row < static_cast<int>(payloads_.size());
  save_->setEnabled(any && payloads_[static_cast<std::size_t>(row)].missing.isEmpty());
  if (!any) return;
  const Payload& p = payloads_[static_cast<std::size_t>(row)];
  note_->setText(p.missing.isEmpty() ? one_line(p.file)
                                     : tr("It cannot be saved: %1.").arg(one_line(p.missing)));
}

void PayloadDialog::save() {
  const int row = list_->currentRow();
  if (row < 0 || !save_->isEnabled()) return;
  auto* const dialog = new QFileDialog(this, tr("Save the payload"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  const Payload& p = payloads_[static_cast<std::size_t>(row)];
  dialog->selectFile(p.file);
  connect(dialog, &QFileDialog::fileSelected, this, [this, p](const QString& path) {
    const QString why = save_payload(p, path);
    Q_EMIT reported(why.isEmpty() ? tr("%L1 bytes saved in %2").arg(p.length).arg(path) : why);
    if (why.isEmpty()) accept();
  });
  dialog->open();
}

}  // namespace rpcrdma::gui
