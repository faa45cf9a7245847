// The page's three columns: recent files, the ways to get data, samples and help.
#include "start_page.h"

#include "card.h"
#include "recent_list.h"
#include "samples.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/icons/icons.h>
#include <rpcrdma/kernel_launch/launch.h>
#include <rpcrdma/sources/endpoint_watch.h>
#include <rpcrdma/sources/interface_watch.h>
#include <rpcrdma/sources/presets.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr std::size_t kMostRows = 5;  // of endpoints, and of interfaces
constexpr int kWidest = 1400;         // of the columns together, pixels
constexpr int kIndent = 36;           // of what belongs to a heading with an icon
constexpr const char* kMoreKey = "";  // the row that leads to all of them

QLabel* heading(const QString& text, QWidget* parent) {
  auto* const label = new QLabel(text, parent);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * 1.1);
  font.setWeight(QFont::DemiBold);
  label->setFont(font);
  label->setContentsMargins(8, 0, 0, 4);
  return label;
}

// The frame of what went wrong.
class Banner : public QWidget {
 public:
  using QWidget::QWidget;

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor error = severity_colour(palette(), 0);
    painter.setPen(error);
    painter.setBrush(tint(palette(), error, 0.14));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    draw_sign(painter, {14, (height() - 20) / 2.0, 20, 20}, FileSign::kError, palette());
  }
};

QVBoxLayout* column_of(QWidget* widget) {
  auto* const column = new QVBoxLayout(widget);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(8);
  return column;
}

}  // namespace

StartPage::StartPage(QSettings& settings, QWidget* parent) : QWidget(parent), settings_(settings) {
  setAccessibleName(tr("Start"));
  endpoint_watch_ = new EndpointWatch(this);
  interface_watch_ = new InterfaceWatch(&capture::list_interfaces, this);
  auto* const inside = new QWidget;
  auto* const wide = new QVBoxLayout(inside);
  wide->setContentsMargins(16, 16, 16, 16);
  wide->setSpacing(12);
  wide->addWidget(make_problem());
  auto* const columns = new QHBoxLayout;
  columns->setSpacing(20);
  columns->addWidget(make_left(), 5);
  columns->addWidget(make_middle(), 8);
  columns->addWidget(make_right(), 5);
  wide->addLayout(columns);
  wide->addStretch();
  auto* const middle = new QWidget;
  auto* const row = new QHBoxLayout(middle);
  row->setContentsMargins(0, 0, 0, 0);
  row->addStretch(1);
  row->addWidget(inside, 1000);
  row->addStretch(1);
  inside->setMaximumWidth(kWidest);
  auto* const scroll = new QScrollArea(this);
  scroll->setWidget(middle);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->viewport()->setAutoFillBackground(false);
  middle->setAutoFillBackground(false);
  auto* const outer = new QVBoxLayout(this);
  outer->setContentsMargins(6, 6, 6, 6);
  outer->addWidget(scroll);
  connect(endpoint_watch_, &EndpointWatch::changed, this, &StartPage::show_endpoints);
  connect(interface_watch_, &InterfaceWatch::listed, this, &StartPage::show_interfaces);
  connect(interface_watch_, &InterfaceWatch::rates_changed, this, &StartPage::show_interfaces);
  for (RowList* const list : {&recent_->rows(), endpoints_, interfaces_}) {
    connect(list, &RowList::resized, this, &StartPage::order_stops);
  }
  setFocusProxy(&open_->heading());
  show_endpoints();
  show_interfaces();
  order_stops();
}

// Column by column. Rows come at any time, and Qt puts new widgets last.
void StartPage::order_stops() {
  std::vector<QWidget*> stops;
  const auto add_rows = [&](const RowList* list) {
    if (list != nullptr) stops.insert(stops.end(), list->rows().begin(), list->rows().end());
  };
  add_rows(&recent_->rows());
  stops.push_back(&open_->heading());
  stops.push_back(&attach_->heading());
  add_rows(endpoints_);
  stops.push_back(&trial_->heading());
  stops.insert(stops.end(), presets_.begin(), presets_.end());
  stops.push_back(&capture_->heading());
  add_rows(interfaces_);
  stops.push_back(&fleet_->heading());
  add_rows(samples_);
  add_rows(help_);
  for (std::size_t i = 1; i < stops.size(); ++i) setTabOrder(stops[i - 1], stops[i]);
}

QWidget* StartPage::make_problem() {
  problem_ = new Banner(this);
  problem_->setObjectName("problem");
  problem_text_ = new QLabel(problem_);
  problem_text_->setTextFormat(Qt::PlainText);
  problem_text_->setWordWrap(true);
  problem_text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* const away = new QToolButton(problem_);
  away->setAutoRaise(true);
  away->setIcon(icon("remove"));
  away->setToolTip(tr("Hide this message"));
  away->setAccessibleName(tr("Hide this message"));
  connect(away, &QToolButton::clicked, this, [this] { show_problem({}); });
  auto* const row = new QHBoxLayout(problem_);
  row->setContentsMargins(44, 8, 8, 8);
  row->addWidget(problem_text_, 1);
  row->addWidget(away);
  problem_->hide();
  return problem_;
}

void StartPage::show_problem(const QString& text) {
  problem_text_->setText(one_line(text));
  problem_text_->setAccessibleName(one_line(text));
  problem_->setVisible(!text.isEmpty());
}

QString StartPage::problem() const {
  return problem_->isHidden() ? QString() : problem_text_->text();
}

QWidget* StartPage::make_left() {
  auto* const side = new QWidget(this);
  QVBoxLayout* const column = column_of(side);
  column->addWidget(heading(tr("Recent"), side));
  recent_ = new RecentList(settings_, side);
  connect(recent_, &RecentList::open_wanted, this,
          [this](const QString& path) { Q_EMIT open_wanted({path}); });
  column->addWidget(recent_);
  column->addStretch();
  return side;
}

QWidget* StartPage::make_middle() {
  auto* const side = new QWidget(this);
  QVBoxLayout* const column = column_of(side);
  open_ =
      new SourceCard("open", tr("Open a capture or recording"), tr("Ctrl+O"),
                     tr("pcap, pcapng, ERF, snoop and trace-cmd files, plain or compressed"), side);
  open_->heading().setObjectName("open");
  drop_ = new SecondLine(tr("Or drop files anywhere on this page."), kIndent, open_);
  open_->column().addWidget(drop_);
  connect(&open_->heading(), &QAbstractButton::clicked, this, [this] { Q_EMIT open_wanted({}); });

  attach_ = new SourceCard("attach", tr("Attach to a running endpoint"), tr("Ctrl+E"),
                           tr("Lists all of your endpoints, to choose several"), side);
  attach_->heading().setObjectName("attach");
  endpoints_ = new RowList("endpoints", attach_);
  attach_->column().addWidget(endpoints_);
  connect(&attach_->heading(), &QAbstractButton::clicked, this,
          [this] { Q_EMIT attach_wanted({}); });
  connect(endpoints_, &RowList::chosen, this, [this](const QString& key) {
    if (key == kMoreKey) return Q_EMIT attach_wanted({});
    Q_EMIT attach_wanted(key.split('\n'));
  });

  trial_ = new SourceCard("trial", tr("Try it: a server and a load in this window"), tr("Ctrl+T"),
                          tr("Shows all settings"), side);
  trial_->heading().setObjectName("trial");
  auto* const grid = new QGridLayout;
  grid->setContentsMargins(kIndent, 2, 8, 6);
  grid->setSpacing(8);
  for (const Preset& preset : presets()) {
    auto* const button = new QPushButton(preset_title(preset), trial_);
    button->setObjectName(QString("preset-") + preset.name);
    button->setToolTip(preset_tip(preset));
    button->setAccessibleDescription(preset_tip(preset));
    button->setMinimumHeight(fontMetrics().height() + 12);
    connect(button, &QPushButton::clicked, this,
            [this, name = preset.name] { Q_EMIT trial_wanted(name); });
    const int at = static_cast<int>(presets_.size());
    grid->addWidget(button, at / 3, at % 3);
    presets_.push_back(button);
  }
  trial_->column().addLayout(grid);
  connect(&trial_->heading(), &QAbstractButton::clicked, this, [this] { Q_EMIT trial_wanted({}); });

  capture_ = new SourceCard("capture", tr("Capture from an interface"), tr("Ctrl+I"),
                            tr("Lists all interfaces, and takes a capture filter"), side);
  capture_->heading().setObjectName("capture");
  interfaces_ = new RowList("interfaces", capture_);
  no_interfaces_ = new SecondLine({}, kIndent, capture_);
  capture_->column().addWidget(interfaces_);
  capture_->column().addWidget(no_interfaces_);
  connect(&capture_->heading(), &QAbstractButton::clicked, this,
          [this] { Q_EMIT capture_wanted({}); });
  connect(interfaces_, &RowList::chosen, this, &StartPage::capture_wanted);
  fleet_ = new SourceCard("fleet", tr("Open a fleet"), tr("Ctrl+Shift+F"),
                          tr("Shows many hosts, as their agents publish them over NATS"), side);
  fleet_->heading().setObjectName("fleet");
  fleet_->column().addWidget(new SecondLine(
      tr("Hosts whose agents publish to a NATS server: rpcrdma agent."), kIndent, fleet_));
  connect(&fleet_->heading(), &QAbstractButton::clicked, this, &StartPage::fleet_wanted);
  for (SourceCard* const card : {open_, attach_, trial_, capture_, fleet_}) {
    column->addWidget(card);
  }
  column->addStretch();
  return side;
}

QWidget* StartPage::make_right() {
  auto* const side = new QWidget(this);
  QVBoxLayout* const column = column_of(side);
  if (const std::vector<Sample> all = samples(); !all.empty()) {
    column->addWidget(heading(tr("Samples"), side));
    samples_ = new RowList("samples", side);
    std::vector<RowText> texts;
    for (const Sample& s : all) {
      RowText text;
      text.key = s.path;
      text.title = s.title;
      text.detail = s.detail;
      text.tip = s.detail + '\n' + s.path;
      text.icon = icon("file");
      texts.push_back(text);
    }
    samples_->set(texts);
    connect(samples_, &RowList::chosen, this,
            [this](const QString& path) { Q_EMIT open_wanted({path}); });
    column->addWidget(samples_);
    column->addSpacing(8);
  }
  column->addWidget(heading(tr("Help"), side));
  help_ = new RowList("help", side);
  std::vector<RowText> topics;
  const std::tuple<const char*, const char*, QString, QString> all[] = {
      {"keys", "keys", tr("Keys"), tr("F1")},
      {"filter", "filter", tr("Filter reference"), {}},
      {"rules", "rules", tr("Rules"), {}},
      {"about", "about", tr("About"), {}},
  };
  for (const auto& [key, picture, title, keys] : all) {
    RowText text;
    text.key = key;
    text.icon = icon(picture);
    text.title = title;
    text.value = keys;
    topics.push_back(text);
  }
  help_->set(topics);
  connect(help_, &RowList::chosen, this, &StartPage::help_wanted);
  column->addWidget(help_);
  column->addStretch();
  return side;
}

void StartPage::show_endpoints() {
  std::vector<RowText> rows;
  const auto accent = ink(palette(), Ink::kGranted);
  QStringList all;
  if (const Endpoints& found = endpoint_watch_->found()) {
    for (const trace::RunningEndpoint& e : *found) {
      const QString path = QString::fromStdString(e.path);
      all << path;
      if (rows.size() == kMostRows) continue;
      RowText row;
      row.key = path;
      row.icon = icon("attach", accent);
      row.title = QString::fromStdString(e.name) + "  " + role_text(e);
      row.value = since_text(e.since);
      row.tip = tr("%1, process %2").arg(role_text(e)).arg(e.process) + '\n' + path;
      rows.push_back(row);
    }
  }
  if (all.size() > 1) {
    RowText row;
    row.key = all.size() > static_cast<qsizetype>(kMostRows) ? QString(kMoreKey) : all.join('\n');
    row.icon = icon("attach");
    row.title = all.size() > static_cast<qsizetype>(kMostRows)
                    ? tr("%1 endpoints run: choose").arg(all.size())
                    : tr("All of them, as one");
    rows.push_back(row);
  }
  if (!endpoint_watch_->has_kernel()) {
    RowText row;
    row.key = QString::fromLatin1(kernel::kEndpointName);
    row.icon = icon("attach");
    row.title = tr("kernel  Linux's own NFS/RDMA");
    row.value = tr("starts when you attach");
    row.tip =
        tr("Traces the NFS/RDMA client and server of this machine's kernel, on any RNIC. "
           "Needs privileges: docs/kernel.md");
    rows.push_back(row);
  }
  endpoints_->set(rows);
}

void StartPage::show_interfaces() {
  std::vector<RowText> rows;
  const QColor accent = ink(palette(), Ink::kCall);
  for (const InterfaceWatch::Seen& s : interface_watch_->seen()) {
    if (!s.interface.usual || rows.size() == kMostRows) continue;
    const bool rdma = !s.interface.device.isEmpty();
    RowText row;
    row.key = s.interface.name;
    row.icon = rdma ? icon("capture", accent) : icon("capture");
    row.title = s.interface.name;
    if (const QString what = describe(s.interface); !what.isEmpty()) row.title += "  " + what;
    row.strong = rdma;
    row.value = rate_text(s);
    row.tip = tr("Captures RoCE packets from %1").arg(s.interface.name);
    rows.push_back(row);
  }
  interfaces_->set(rows);
  QString none;
  if (!interface_watch_->problem().isEmpty()) none = interface_watch_->problem() + ". ";
  if (rows.empty() && interface_watch_->has_listed()) none += capture_rights_hint();
  no_interfaces_->setText(one_line(none));
  no_interfaces_->setVisible(!none.isEmpty());
}

void StartPage::set_dragging(bool dragging) {
  if (dragging == dragging_) return;
  dragging_ = dragging;
  drop_->setText(dragging ? tr("Drop to open.") : tr("Or drop files anywhere on this page."));
  update();
}

void StartPage::paintEvent(QPaintEvent* /*event*/) {
  if (!dragging_) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QColor accent = ink(palette(), Ink::kCall);
  QColor wash = accent;
  wash.setAlphaF(0.08F);
  painter.setBrush(wash);
  painter.setPen(QPen(accent, 2, Qt::DashLine));
  painter.drawRoundedRect(QRectF(rect()).adjusted(3, 3, -3, -3), 8, 8);
}

void StartPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  recent_->update_list();
  endpoint_watch_->start();
  interface_watch_->start();
}

void StartPage::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  endpoint_watch_->stop();
  interface_watch_->stop();
}

}  // namespace rpcrdma::gui
