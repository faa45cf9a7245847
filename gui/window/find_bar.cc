// Searches in a thread, some rows at a time, so that millions of rows do not hold up the window.
#include "find_bar.h"

#include "columns.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QToolButton>
#include <algorithm>

namespace rpcrdma::gui {

namespace {

constexpr std::uint64_t kFoundAtOnce = 4096;  // rows for the thread
constexpr std::size_t kWhileLocked = 64;      // texts made while the store is locked

bool has_text(const index::Content& content, std::uint64_t id, const QString& wanted) {
  for (const Column column : {Column::kInfo, Column::kXid, Column::kProcedure, Column::kStatus}) {
    const QString text = cell(content, id, column, TimeFormat::kRelative, 0, nullptr);
    if (text.contains(wanted, Qt::CaseInsensitive)) return true;
  }
  return false;
}

// Returns the first of the messages with the text; 0: none has it.
std::uint64_t first_with(const index::Store& store, const std::vector<std::uint64_t>& messages,
                         const QString& wanted, const std::atomic<bool>& cancelled) {
  for (std::size_t at = 0; at < messages.size() && !cancelled; at += kWhileLocked) {
    const std::uint64_t found = store.read([&](const index::Content& c) -> std::uint64_t {
      const std::size_t end = std::min(messages.size(), at + kWhileLocked);
      for (std::size_t i = at; i < end; ++i) {
        if (has_text(c, messages[i], wanted)) return messages[i];
      }
      return 0;
    });
    if (found != 0) return found;
  }
  return 0;
}

}  // namespace

FindBar::FindBar(Document& document, QWidget* parent)
    : QWidget(parent), document_(document), edit_(new QLineEdit(this)), result_(new QLabel(this)) {
  setAccessibleName(tr("Find a text"));
  edit_->setPlaceholderText(tr("Text in Info, procedure, status or XID"));
  edit_->setAccessibleName(tr("Text to find"));
  edit_->setClearButtonEnabled(true);
  edit_->setMaximumWidth(fontMetrics().averageCharWidth() * 60);
  result_->setTextFormat(Qt::PlainText);
  result_->setAccessibleName(tr("Result of the search"));
  const auto button = [this](const QString& text, const QString& help, auto act) {
    auto* const made = new QToolButton(this);
    made->setText(text);
    made->setToolTip(help);
    made->setAutoRaise(true);
    made->setFocusPolicy(Qt::TabFocus);
    connect(made, &QToolButton::clicked, this, act);
    return made;
  };
  auto* const row = new QHBoxLayout(this);
  row->setContentsMargins(8, 4, 8, 4);
  row->addWidget(new QLabel(tr("Find:"), this));
  row->addWidget(edit_, 1);
  row->addWidget(button(tr("Previous"), tr("Shift+F3"), [this] { find(-1); }));
  row->addWidget(button(tr("Next"), tr("F3 or Enter"), [this] { find(1); }));
  row->addWidget(result_);
  row->addStretch();
  row->addWidget(button(tr("Close"), tr("Esc"), [this] { hide(); }));
  connect(edit_, &QLineEdit::returnPressed, this, [this] { find(1); });
  connect(edit_, &QLineEdit::textChanged, this, [this] {
    ++search_;
    result_->clear();
  });
  connect(&document_, &Document::reset, this, [this] {
    ++search_;
    result_->clear();
    if (document_.is_empty()) hide();
  });
  hide();
}

void FindBar::begin() {
  show();
  edit_->setFocus();
  edit_->selectAll();
}

void FindBar::find(int by) {
  const std::uint64_t rows = document_.row_count();
  if (edit_->text().isEmpty()) return begin();
  show();
  result_->clear();
  ++search_;
  by_ = by;
  left_ = rows;
  passed_end_ = false;
  const auto now = document_.row_of(document_.selected());
  if (rows != 0) {
    row_ = by > 0 ? (now ? (*now + 1) % rows : 0) : (now ? (*now + rows - 1) % rows : rows - 1);
    passed_end_ = now && (by > 0 ? row_ == 0 : row_ == rows - 1);
  }
  step(search_);
}

void FindBar::step(std::uint64_t search) {
  if (search != search_) return;
  // A filter may have changed the rows.
  const std::uint64_t rows = document_.row_count();
  left_ = std::min(left_, rows);
  if (left_ == 0) return result_->setText(tr("No message that is shown has this text"));
  row_ = std::min(row_, rows - 1);
  std::vector<std::uint64_t> messages;
  while (left_ != 0 && messages.size() < kFoundAtOnce) {
    messages.push_back(document_.message_at(row_));
    --left_;
    const bool end = by_ > 0 ? row_ + 1 == rows : row_ == 0;
    if (end && left_ != 0 && messages.size() < kFoundAtOnce) {
      row_ = by_ > 0 ? 0 : rows - 1;
      break;
    }
    row_ = end ? (by_ > 0 ? 0 : rows - 1) : (by_ > 0 ? row_ + 1 : row_ - 1);
  }
  const bool turned = by_ > 0 ? row_ == 0 : row_ == rows - 1;
  document_.in_background(
      [ids = std::move(messages), text = edit_->text()](const index::Store& store,
                                                        const std::atomic<bool>& cancelled) {
        return first_with(store, ids, text, cancelled);
      },
      [this, search, turned](std::uint64_t found) {
        if (search != search_) return;
        if (found == 0) {
          passed_end_ |= turned;
          return step(search);
        }
        if (passed_end_) result_->setText(tr("Passed the end"));
        document_.select_message(found);
      });
}

void FindBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    hide();
    return;
  }
  QWidget::keyPressEvent(event);
}

}  // namespace rpcrdma::gui
