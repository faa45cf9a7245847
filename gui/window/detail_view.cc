#include "detail_view.h"

#include <QSplitter>
#include <QVBoxLayout>

#include <rpcrdma/views/byte_view.h>

namespace rpcrdma::gui {

namespace {

QByteArray as_bytes(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

}  // namespace

DetailView::DetailView(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      tree_(new FieldTree(this)),
      tabs_(new QTabWidget(this)),
      send_(new ByteView(this)),
      rpc_(new ByteView(this)) {
  tabs_->addTab(send_, tr("Send"));
  tabs_->addTab(rpc_, tr("RPC message"));
  tabs_->setTabToolTip(0, tr("The bytes of the Send"));
  tabs_->setTabToolTip(1, tr("The whole RPC message, with the data of its chunks inserted"));
  tabs_->setDocumentMode(true);
  send_->setAccessibleName(tr("Bytes of the Send"));
  rpc_->setAccessibleName(tr("Bytes of the whole RPC message"));
  auto* const split = new QSplitter(Qt::Vertical, this);
  split->addWidget(tree_);
  split->addWidget(tabs_);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(split);
  connect(&document_, &Document::excerpt_read, this, &DetailView::show_excerpt);
  connect(&document_, &Document::reset, this, &DetailView::show_excerpt);
  connect(tree_, &FieldTree::field_selected, this, &DetailView::mark);
  connect(tree_, &FieldTree::frame_wanted, &document_, &Document::select_frame);
  connect(send_, &ByteView::field_selected, tree_, &FieldTree::select);
  connect(rpc_, &ByteView::field_selected, tree_, &FieldTree::select);
}

void DetailView::show_excerpt() {
  const auto excerpt = document_.excerpt();
  const index::Excerpt::Message* const message =
      excerpt ? excerpt->find(document_.selected()) : nullptr;
  tree_->show_message(message);
  send_->set_bytes(message != nullptr ? as_bytes(message->message.bytes) : QByteArray());
  rpc_->set_bytes(message != nullptr ? as_bytes(message->rebuilt) : QByteArray());
  tabs_->setTabEnabled(1, message != nullptr && !message->rebuilt.empty());
  std::vector<ByteField> send;
  std::vector<ByteField> rpc;
  for (const FieldTree::Extent& e : tree_->extents()) {
    if (e.of == FieldTree::Of::kSend) send.push_back({e.offset, e.length, e.item});
    if (e.of == FieldTree::Of::kRpc) rpc.push_back({e.offset, e.length, e.item});
  }
  send_->set_fields(std::move(send));
  rpc_->set_fields(std::move(rpc));
}

void DetailView::mark(const FieldTree::Extent& extent) {
  const bool in_rpc = extent.of == FieldTree::Of::kRpc;
  if (extent.of == FieldTree::Of::kNone) {
    send_->set_marked(0, 0);
    rpc_->set_marked(0, 0);
    return;
  }
  tabs_->setCurrentIndex(in_rpc ? 1 : 0);
  (in_rpc ? rpc_ : send_)->set_marked(extent.offset, extent.length);
  (in_rpc ? send_ : rpc_)->set_marked(0, 0);
}

}  // namespace rpcrdma::gui
