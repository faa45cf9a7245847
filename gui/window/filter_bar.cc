// Chips read the document's filter and change it; they keep no state of their own.
#include "filter_bar.h"

#include "colours.h"
#include "filter_text.h"

#include <QApplication>
#include <QEvent>
#include <QInputDialog>
#include <QMenu>
#include <QRegularExpression>
#include <QToolButton>
#include <algorithm>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::gui {

namespace {

using Chip = FilterBar::Chip;

constexpr const char* kErrors =
    "rpcrdma.kind in {error, malformed} || "
    "(rpc.status != \"ok\" && !(rpc.status matches \"krb5|RPCSEC_GSS\"))";

bool matches(const QString& part, const char* pattern) {
  return QRegularExpression(QRegularExpression::anchoredPattern(pattern),
                            QRegularExpression::CaseInsensitiveOption)
      .match(part.trimmed())
      .hasMatch();
}

// Whether a part of a filter is what a chip stands for, with any value.
bool is_of(Chip chip, const QString& part) {
  switch (chip) {
    case Chip::kErrors:
      return is_same_filter(part, kErrors);
    case Chip::kSlow:
      return matches(part, "rpcrdma\\.latency\\s*>=?\\s*[0-9.]+(ns|us|ms|s)");
    case Chip::kFindings:
      return is_same_filter(part, "rpcrdma.finding");
    case Chip::kNfs:
      return is_same_filter(part, "rpc.program in {NFS, NFS_CB}");
    case Chip::kConnection:
      return matches(part, "rpcrdma\\.connection\\s*==\\s*\\d+");
    case Chip::kCall:
      return matches(part, "rpcrdma\\.xid\\s*==\\s*(0x[0-9a-f]+|\\d+)");
  }
  return false;
}

// The value of a part such as "rpcrdma.connection == 3".
QString value_of(const QString& part) {
  return part.section(QRegularExpression("[=>]"), -1).trimmed();
}

// "5.12 ms", of a duration as filters write it.
QString duration_text(const QString& value) {
  const auto ns = filter::parse_span(value.toStdString());
  return ns ? QString::fromStdString(report::format_duration(*ns)) : value;
}

}  // namespace

FilterBar::FilterBar(Document& document, SavedFilters& saved, QWidget* parent)
    : QToolBar(tr("Filter bar"), parent), document_(document), saved_(saved) {
  // The window hears of another palette, a widget with a style sheet does not.
  if (parent != nullptr) parent->window()->installEventFilter(this);
  setObjectName("filter-bar");
  setAccessibleName(tr("Filter bar"));
  setMovable(false);
  setContextMenuPolicy(Qt::PreventContextMenu);
  const std::pair<QString, QString> titles[kChips] = {
      {tr("Errors"), tr("RDMA_ERRORs, malformed messages, and RPCs that ended with an error")},
      {tr("Slow"), tr("Calls slower than 99 % of all Calls of the document, or than a limit")},
      {tr("Findings"), tr("Messages that violate a rule")},
      {tr("NFS"), tr("Messages of NFS and its callbacks")},
      {tr("This connection"), tr("Messages of the selected connection")},
      {tr("This Call"), tr("Messages with the XID of the selected message, on its connection")},
  };
  for (std::size_t i = 0; i < kChips; ++i) {
    const Chip chip = static_cast<Chip>(i);
    chips_[i] = add_chip(titles[i].first, titles[i].second);
    chips_[i]->setCheckable(true);
    connect(chips_[i], &QAction::triggered, this, [this, chip](bool on) { toggled(chip, on); });
  }
  auto* const slow = qobject_cast<QToolButton*>(widgetForAction(chips_[1]));
  auto* const limits = new QMenu(slow);
  const std::pair<QString, std::int64_t> choices[] = {
      {tr("Slower than the 99th percentile"), 0}, {tr("Slower than 1 ms"), 1'000'000},
      {tr("Slower than 10 ms"), 10'000'000},      {tr("Slower than 100 ms"), 100'000'000},
      {tr("Slower than 1 s"), 1'000'000'000},
  };
  for (const auto& [title, ns] : choices) {
    limits->addAction(title, this, [this, limit = ns] {
      set_slow_limit(limit);
      toggled(Chip::kSlow, true);
    });
  }
  slow->setMenu(limits);
  slow->setPopupMode(QToolButton::MenuButtonPopup);
  range_ = add_chip({}, tr("Shows the whole time again"));
  connect(range_, &QAction::triggered, &document_.time_range(), &TimeRange::show_all);
  before_saved_ = addSeparator();
  style();
  connect(&document_, &Document::rows_changed, this, &FilterBar::update_chips);
  connect(&document_, &Document::message_selected, this, &FilterBar::update_chips);
  connect(&document_, &Document::connection_selected, this, &FilterBar::update_chips);
  connect(&document_, &Document::reset, this, &FilterBar::update_chips);
  connect(&document_, &Document::reset, this, &FilterBar::update_range);
  connect(&document_, &Document::time_format_changed, this, &FilterBar::update_range);
  connect(&document_.time_range(), &TimeRange::changed, this, &FilterBar::update_range);
  connect(&saved_, &SavedFilters::changed, this, &FilterBar::update_saved);
  update_chips();
  update_range();
  update_saved();
}

QAction* FilterBar::add_chip(const QString& text, const QString& help) {
  QAction* const action = addAction(text);
  action->setToolTip(help);
  QWidget* const button = widgetForAction(action);
  button->setProperty("chip", true);
  button->setFocusPolicy(Qt::TabFocus);
  return action;
}

void FilterBar::set_slow_limit(std::int64_t ns) {
  slow_ns_ = ns;
}

std::int64_t FilterBar::slow_limit() const {
  if (slow_ns_ != 0) return slow_ns_;
  base::Histogram all;
  document_.store().read([&](const index::Content& c) {
    for (const auto& entry : c.times) all.merge(entry.second.total);
  });
  // The slowest Call is slow, however few there are.
  return std::min(all.quantile(0.99), all.max());
}

QString FilterBar::part(Chip chip) const {
  switch (chip) {
    case Chip::kErrors:
      return kErrors;
    case Chip::kSlow: {
      const std::int64_t ns = slow_limit();
      return ns <= 0 ? QString() : QString("rpcrdma.latency >= %1us").arg(ns / 1000);
    }
    case Chip::kFindings:
      return "rpcrdma.finding";
    case Chip::kNfs:
      return "rpc.program in {NFS, NFS_CB}";
    case Chip::kConnection:
      return document_.connection()
                 ? QString("rpcrdma.connection == %1").arg(*document_.connection() + 1)
                 : QString();
    case Chip::kCall: {
      const quint64 id = document_.selected();
      return document_.store().read([id](const index::Content& c) {
        if (id == 0 || id > c.rows.size()) return QString();
        return QString("rpcrdma.xid == 0x%1").arg(c.rows[id - 1].xid, 8, 16, QChar('0'));
      });
    }
  }
  return {};
}

void FilterBar::toggled(Chip chip, bool on) {
  const auto without = [](const QString& filter, Chip of) {
    return without_part(filter, [of](const QString& p) { return is_of(of, p); });
  };
  QString filter = without(document_.filter(), chip);
  if (on) {
    const QString wanted = part(chip);
    // XIDs are unique on a connection only.
    if (chip == Chip::kCall && !wanted.isEmpty()) {
      filter = with_part(without(filter, Chip::kConnection), part(Chip::kConnection));
    }
    if (!wanted.isEmpty()) filter = with_part(filter, wanted);
  }
  if (filter != document_.filter()) Q_EMIT filter_wanted(filter);
  update_chips();
}

void FilterBar::update_chips() {
  const QStringList parts = filter_parts(document_.filter());
  const bool selected = document_.selected() != 0;
  for (std::size_t i = 0; i < kChips; ++i) {
    const Chip chip = static_cast<Chip>(i);
    QAction& action = *chips_[i];
    const auto it = std::find_if(parts.begin(), parts.end(),
                                 [chip](const QString& p) { return is_of(chip, p); });
    const bool on = it != parts.end();
    action.setChecked(on);
    QString text;
    switch (chip) {
      case Chip::kErrors:
        text = tr("Errors");
        break;
      case Chip::kSlow:
        text = on ? tr("Slow: %1 or more").arg(duration_text(value_of(*it))) : tr("Slow");
        break;
      case Chip::kFindings:
        text = tr("Findings");
        break;
      case Chip::kNfs:
        text = tr("NFS");
        break;
      case Chip::kConnection:
        text = on ? tr("Connection %1").arg(value_of(*it)) : tr("This connection");
        action.setEnabled(on || document_.connection().has_value());
        break;
      case Chip::kCall:
        text = on ? tr("XID %1").arg(value_of(*it)) : tr("This Call");
        action.setEnabled(on || selected);
        break;
    }
    // Colour is not the only sign.
    action.setText(on ? "\u2713 " + menu_text(text) : menu_text(text));
  }
}

void FilterBar::update_range() {
  const auto range = document_.time_range().range();
  range_->setVisible(range.has_value());
  if (!range) return;
  range_->setText(tr("%1 to %2  \u2715")
                      .arg(document_.time_text(range->from_ns), document_.time_text(range->to_ns)));
}

void FilterBar::update_saved() {
  for (QAction* const action : saved_actions_) {
    removeAction(action);
    delete action;
  }
  saved_actions_.clear();
  before_saved_->setVisible(!saved_.all().empty());
  for (const SavedFilters::Saved& saved : saved_.all()) {
    QAction* const action = add_chip(menu_text(saved.name), tool_tip(saved.text));
    connect(action, &QAction::triggered, this,
            [this, text = saved.text] { Q_EMIT filter_wanted(text); });
    QWidget* const button = widgetForAction(action);
    button->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(button, &QWidget::customContextMenuRequested, this,
            [this, button, name = saved.name](const QPoint& at) {
              saved_menu(name, button->mapToGlobal(at));
            });
    saved_actions_.push_back(action);
  }
  style();
}

void FilterBar::saved_menu(const QString& name, const QPoint& at) {
  QString text;
  for (const SavedFilters::Saved& saved : saved_.all()) {
    if (saved.name == name) text = saved.text;
  }
  auto* const menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(tr("&Apply"), this, [this, text] { Q_EMIT filter_wanted(text); });
  menu->addAction(tr("A&dd to the filter"), this,
                  [this, text] { Q_EMIT filter_wanted(with_part(document_.filter(), text)); });
  menu->addSeparator();
  menu->addAction(tr("&Rename..."), this, [this, name] {
    auto* const dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Rename the saved filter"));
    dialog->setLabelText(tr("Name of the filter:"));
    dialog->setTextValue(name);
    connect(dialog, &QInputDialog::textValueSelected, this,
            [this, name](const QString& to) { saved_.rename(name, to); });
    dialog->open();
  });
  menu->addAction(tr("Re&move"), this, [this, name] { saved_.remove(name); });
  menu->popup(at);
}

void FilterBar::style() {
  // A widget with a style sheet keeps the palette that it began with.
  const QPalette colours = QApplication::palette();
  const QColor accent = colours.color(QPalette::Highlight);
  setStyleSheet(QString("QToolBar { border: none; padding: 2px 8px; spacing: 4px; }"
                        "QToolButton[chip=\"true\"] { border: 1px solid %1; border-radius: 10px;"
                        "  padding: 2px 10px; color: %5; }"
                        "QToolButton[chip=\"true\"]:disabled { color: %6; }"
                        "QToolButton[chip=\"true\"]:hover { background: %2; }"
                        "QToolButton[chip=\"true\"]:focus { border: 2px solid %3;"
                        "  padding: 1px 9px; }"
                        "QToolButton[chip=\"true\"]:checked { background: %4; border-color: %3; }"
                        "QToolButton[chip=\"true\"][popupMode=\"1\"] { padding-right: 22px; }"
                        "QToolButton::menu-button { border: none; width: 16px; }")
                    .arg(line_colour(colours).name(), tint(colours, accent, 0.12).name(),
                         accent.name(), tint(colours, accent, 0.25).name(),
                         colours.color(QPalette::WindowText).name(),
                         colours.color(QPalette::Disabled, QPalette::WindowText).name()));
}

bool FilterBar::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::PaletteChange) style();
  return QToolBar::eventFilter(object, event);
}

}  // namespace rpcrdma::gui
