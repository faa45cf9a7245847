// The fields of the playground: their labels, ranges and tooltips.
#include "playground_form.h"

#include "share_row.h"

#include <QAbstractItemView>
#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QGroupBox>
#include <QLineEdit>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>

namespace rpcrdma::gui {

namespace {

constexpr double kMostRate = 20000;    // Calls per second, the slider's maximum
constexpr double kShareOfSlider = 20;  // percent, the slider's maximum
constexpr double kMostDelay = 50;      // ms, the slider's maximum
constexpr int kMostStall = 5000;       // ms

template <typename Widget>
Widget* described(Widget* widget, const char* object, const QString& name, const QString& tip) {
  widget->setObjectName(object);
  widget->setAccessibleName(name);
  widget->setToolTip(tip);
  return widget;
}

QSpinBox* number(int least, int most, int value) {
  auto* box = new QSpinBox;
  box->setRange(least, most);
  box->setValue(value);
  box->setKeyboardTracking(false);
  return box;
}

// A threshold in KiB, the unit in which both ends negotiate it.
QSpinBox* threshold() {
  QSpinBox* box = number(1, 256, 4);
  box->setSuffix(PlaygroundForm::tr(" KiB"));
  return box;
}

}  // namespace

PlaygroundForm::PlaygroundForm(QWidget* parent) : QWidget(parent) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  setup_ = make_setup();
  layout->addWidget(make_load());
  layout->addWidget(make_faults());
  // Few change these, and there are many of them.
  setup_shown_ = new QToolButton(this);
  setup_shown_->setObjectName("setup_shown");
  setup_shown_->setText(tr("Settings at start: version, credits, sizes"));
  setup_shown_->setToolTip(tr("What the next start uses; fixed while the playground runs"));
  setup_shown_->setCheckable(true);
  setup_shown_->setAutoRaise(true);
  setup_shown_->setArrowType(Qt::RightArrow);
  setup_shown_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  setup_->hide();
  connect(setup_shown_, &QToolButton::toggled, this, [this](bool shown) {
    setup_->setVisible(shown);
    setup_shown_->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
  });
  layout->addWidget(setup_shown_);
  layout->addWidget(setup_);
  layout->addStretch();
  granted_->set_most(credits_->value());
  granted_->set_value(credits_->value());
  connect(credits_, &QSpinBox::valueChanged, this, [this](int credits) {
    granted_->set_most(credits);
    granted_->set_value(credits);
  });
}

QGroupBox* PlaygroundForm::make_setup() {
  const playground::PlaygroundOptions standard;
  auto* group = new QGroupBox;
  auto* form = new QFormLayout(group);
  version_ = described(new QComboBox, "version", tr("Version"),
                       tr("RPC-over-RDMA version; 1 is RFC 8166"));
  version_->addItems({"1", "2"});
  version_->view()->setAccessibleName(tr("Version"));
  form->addRow(tr("RPC-over-RDMA version"), version_);
  credits_ = described(number(1, playground::kMostCredits, static_cast<int>(standard.credits)),
                       "credits", tr("Credits"), tr("Credits that the server posts Receives for"));
  form->addRow(tr("Credits"), credits_);
  depth_ = described(number(1, playground::kMostDepth, static_cast<int>(standard.depth)), "depth",
                     tr("Calls in flight"), tr("Maximum number of Calls in flight"));
  form->addRow(tr("Calls in flight"), depth_);
  server_inline_ = described(threshold(), "server_inline", tr("Server's inline threshold"),
                             tr("The longest message that the server sends or receives inline"));
  form->addRow(tr("Server's inline threshold"), server_inline_);
  client_inline_ = described(threshold(), "client_inline", tr("Client's inline threshold"),
                             tr("The longest message that the client sends or receives inline"));
  form->addRow(tr("Client's inline threshold"), client_inline_);
  procedures_ = described(
      new QLineEdit(QString::fromStdString(standard.procedures)), "procedures", tr("Procedures"),
      tr("Procedures of program ECHO: null, echo, sink, source, echo-bulk, list, "
         "sleep; a list with weights: echo:8,source:2; mix: all except sleep"));
  form->addRow(tr("Procedures"), procedures_);
  sizes_ =
      described(new QLineEdit(QString::fromStdString(standard.sizes)), "sizes", tr("Sizes"),
                tr("Bytes of data: a size, a range, or a list of both: 4k, 512-64k, 0,4k,1Mi"));
  form->addRow(tr("Sizes"), sizes_);
  forward_ = described(new QCheckBox(tr("Calls from the client")), "forward",
                       tr("Calls from the client"), tr("Calls in the forward direction"));
  forward_->setChecked(standard.forward);
  form->addRow(forward_);
  reverse_ =
      described(new QCheckBox(tr("Calls from the server (reverse direction)")), "reverse",
                tr("Calls from the server"), tr("Calls over the same connection (RFC 8167)"));
  form->addRow(reverse_);
  return group;
}

QGroupBox* PlaygroundForm::make_load() {
  const playground::Load standard;
  auto* group = new QGroupBox(tr("Load"));
  auto* form = new QFormLayout(group);
  rate_ = described(new ShareRow(tr("Rate"), tr("Calls per second; 0: as fast as Replies arrive"),
                                 kMostRate, 1e6, 100, tr("/s")),
                    "rate", tr("Rate"), {});
  rate_->set_value(standard.rate);
  form->addRow(tr("Rate"), rate_);
  paused_ = described(new QCheckBox(tr("Pause: no new Calls")), "paused", tr("Pause"),
                      tr("Calls in flight still end"));
  form->addRow(paused_);
  granted_ = described(
      new ShareRow(tr("Credit grant"), tr("Credits that the server grants, from its next Reply on"),
                   32, 32, 1, {}),
      "granted", tr("Credit grant"), {});
  granted_->set_least(1);
  form->addRow(tr("Credit grant"), granted_);
  stalls_ =
      described(new ShareRow(tr("Stalls"), tr("Share of the Calls whose Reply the server delays"),
                             100, 100, 1, tr(" %")),
                "stalls", tr("Stalls"), {});
  form->addRow(tr("Server stalls"), stalls_);
  stall_ = described(number(1, kMostStall, static_cast<int>(standard.stall / fabric::kMillisecond)),
                     "stall", tr("Length of a stall"), tr("How long the server delays them"));
  stall_->setSuffix(tr(" ms"));
  form->addRow(tr("… for"), stall_);
  for (const ShareRow* row : {rate_, stalls_}) {
    connect(row, &ShareRow::changed, this, &PlaygroundForm::load_changed);
  }
  connect(paused_, &QCheckBox::toggled, this, &PlaygroundForm::load_changed);
  connect(stall_, &QSpinBox::valueChanged, this, &PlaygroundForm::load_changed);
  connect(granted_, &ShareRow::changed, this, &PlaygroundForm::grant_changed);
  return group;
}

ShareRow* PlaygroundForm::add_share(QFormLayout* form, const char* object, const QString& name,
                                    const QString& tip) {
  auto* row =
      described(new ShareRow(name, tip, kShareOfSlider, 100, 0.1, tr(" %")), object, name, {});
  form->addRow(name, row);
  connect(row, &ShareRow::changed, this, &PlaygroundForm::faults_changed);
  return row;
}

QGroupBox* PlaygroundForm::make_faults() {
  auto* group = new QGroupBox(tr("Faults"));
  auto* form = new QFormLayout(group);
  loss_ = add_share(form, "loss", tr("Loss"), tr("Share of the packets that are dropped"));
  duplication_ = add_share(form, "duplication", tr("Duplicates"),
                           tr("Share of the packets that are duplicated"));
  reordering_ = add_share(form, "reordering", tr("Reordering"),
                          tr("Share of the packets that arrive after a later one"));
  corruption_ = add_share(form, "corruption", tr("Corruption"),
                          tr("Share of the packets with a flipped bit"));
  delay_ =
      described(new ShareRow(tr("Delay"), tr("Delay of all packets that no other fault affects"),
                             kMostDelay, 10000, 0.1, tr(" ms")),
                "delay", tr("Delay"), {});
  form->addRow(tr("Delay"), delay_);
  connect(delay_, &ShareRow::changed, this, &PlaygroundForm::faults_changed);
  rules_ = described(new QLineEdit, "rules", tr("Further rules"),
                     tr("As for `rpcrdma serve --fault`, for example: drop op=ack nth=10; corrupt "
                        "op=write rate=0.01 (docs/faults.md). Press Enter"));
  rules_->setPlaceholderText("drop op=ack nth=10-12");
  rules_->setClearButtonEnabled(true);
  form->addRow(tr("Further rules"), rules_);
  connect(rules_, &QLineEdit::editingFinished, this, &PlaygroundForm::faults_changed);
  return group;
}

playground::PlaygroundOptions PlaygroundForm::options() const {
  playground::PlaygroundOptions o;
  o.version = version_->currentIndex() == 0 ? 1 : 2;
  o.credits = static_cast<std::uint32_t>(credits_->value());
  o.depth = static_cast<std::uint32_t>(depth_->value());
  o.server_threshold = static_cast<std::uint32_t>(server_inline_->value()) << 10U;
  o.client_threshold = static_cast<std::uint32_t>(client_inline_->value()) << 10U;
  o.procedures = procedures_->text().trimmed().toStdString();
  o.sizes = sizes_->text().trimmed().toStdString();
  o.forward = forward_->isChecked();
  o.reverse = reverse_->isChecked();
  o.load = load();
  o.faults = faults();
  return o;
}

playground::Faults PlaygroundForm::faults() const {
  playground::Faults f;
  f.loss = loss_->value() / 100;
  f.duplication = duplication_->value() / 100;
  f.reordering = reordering_->value() / 100;
  f.corruption = corruption_->value() / 100;
  f.delay = static_cast<fabric::Time>(delay_->value() * double{fabric::kMillisecond});
  f.rules = rules_->text().trimmed().toStdString();
  return f;
}

playground::Load PlaygroundForm::load() const {
  playground::Load l;
  l.rate = rate_->value();
  l.paused = paused_->isChecked();
  l.stalls = stalls_->value() / 100;
  l.stall = stall_->value() * fabric::kMillisecond;
  return l;
}

std::uint32_t PlaygroundForm::granted() const {
  return static_cast<std::uint32_t>(granted_->value());
}

void PlaygroundForm::use(const Preset& preset) {
  loss_->set_value(preset.loss * 100);
  for (ShareRow* const row : {duplication_, reordering_, corruption_, delay_}) row->set_value(0);
  if (!rules_->text().isEmpty()) {
    rules_->clear();
    Q_EMIT faults_changed();
  }
  paused_->setChecked(false);
  granted_->set_value(preset.granted == 0 ? credits_->value() : preset.granted);
  stalls_->set_value(preset.stalls * 100);
}

const Preset* PlaygroundForm::preset() const {
  const playground::Faults now = faults();
  for (const Preset& p : presets()) {
    playground::Faults wanted;
    wanted.loss = p.loss;
    const auto most = static_cast<std::uint32_t>(credits_->value());
    if (std::abs(now.loss - wanted.loss) > 1e-6) continue;
    wanted.loss = now.loss;
    if (now == wanted && granted() == (p.granted == 0 ? most : p.granted) &&
        std::abs(stalls_->value() - p.stalls * 100) < 0.01) {
      return &p;
    }
  }
  return nullptr;
}

QString PlaygroundForm::short_title() const {
  if (const Preset* const p = preset()) return preset_title(*p).toLower();
  if (loss_->value() > 0) return tr("%1 % loss").arg(loss_->value(), 0, 'g', 3);
  return {};
}

void PlaygroundForm::set_running(bool running) {
  setup_->setEnabled(!running);
}

}  // namespace rpcrdma::gui
