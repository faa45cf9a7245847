// The playground's panel: its button, state and counters, and threads that start and stop it.
#include "note.h"
#include "playground_form.h"

#include <QElapsedTimer>
#include <QGridLayout>
#include <QLocale>
#include <QPushButton>
#include <QScrollArea>
#include <QStyle>
#include <QTimer>
#include <QVBoxLayout>
#include <QtConcurrentRun>
#include <utility>

#include <rpcrdma/icons/icons.h>
#include <rpcrdma/playground/playground.h>
#include <rpcrdma/sources/playground_panel.h>

namespace rpcrdma::gui {

namespace {

using playground::Playground;
using Started = fabric::Expected<std::unique_ptr<Playground>>;

constexpr int kShowEach = 250;  // ms

struct Counter {
  const char* object;
  const char* name;
  bool momentary = false;
};
constexpr Counter kCounters[] = {
    {"rate_now", QT_TRANSLATE_NOOP("PlaygroundPanel", "Calls/s"), true},
    {"calls", QT_TRANSLATE_NOOP("PlaygroundPanel", "Calls")},
    {"reverse_calls", QT_TRANSLATE_NOOP("PlaygroundPanel", "Reverse Calls")},
    {"errors", QT_TRANSLATE_NOOP("PlaygroundPanel", "Errors")},
    {"outstanding", QT_TRANSLATE_NOOP("PlaygroundPanel", "In flight"), true},
    {"waiting", QT_TRANSLATE_NOOP("PlaygroundPanel", "Waiting for credit"), true},
    {"grant_now", QT_TRANSLATE_NOOP("PlaygroundPanel", "Credit grant"), true},
    {"faults", QT_TRANSLATE_NOOP("PlaygroundPanel", "Faults injected")},
    {"retransmitted", QT_TRANSLATE_NOOP("PlaygroundPanel", "Retransmissions")},
    {"lost", QT_TRANSLATE_NOOP("PlaygroundPanel", "Connections lost")},
};
constexpr int kFigureColumns = 2;

}  // namespace

struct PlaygroundPanel::Impl {
  PlaygroundForm* form = nullptr;
  QPushButton* button = nullptr;
  Note* note = nullptr;     // why a setting was rejected
  QLabel* state = nullptr;  // what is running
  QLabel* force = nullptr;  // faults in force
  std::vector<QLabel*> counters;
  std::vector<QPushButton*> presets;  // as presets()
  QString title;
  QTimer timer;
  QElapsedTimer since;      // since the counters were last shown
  std::uint64_t calls = 0;  // as last shown
  std::unique_ptr<Playground> running;
  bool busy = false;    // a thread is starting or stopping the playground
  bool ending = false;  // the thread is stopping it

  void show_counters();
  void show_state();
  void show_force(const playground::Faults& faults) const;
  // Marks the preset that the settings match. Returns whether the title has changed.
  bool show_preset();
  void take(const fabric::Expected<void>& done) const {
    note->say(done ? QString() : QString::fromStdString(done.error().message));
  }
};

void PlaygroundPanel::Impl::show_counters() {
  if (running == nullptr) return;
  const playground::PlaygroundStats stats = running->stats();
  const qint64 elapsed = since.isValid() ? since.restart() : (since.start(), 0);
  const double rate =
      elapsed > 0 ? static_cast<double>(stats.calls - calls) * 1000 / static_cast<double>(elapsed)
                  : 0;
  calls = stats.calls;
  const QLocale locale;
  const std::uint64_t values[] = {static_cast<std::uint64_t>(rate + 0.5),
                                  stats.calls,
                                  stats.reverse_calls,
                                  stats.errors,
                                  stats.outstanding,
                                  stats.waiting,
                                  stats.granted,
                                  stats.faults,
                                  stats.retransmitted,
                                  stats.lost};
  static_assert(std::size(values) == std::size(kCounters));
  for (std::size_t i = 0; i < counters.size(); ++i) {
    counters[i]->setText(locale.toString(static_cast<qulonglong>(values[i])));
  }
  QString text = stats.connected ? PlaygroundPanel::tr("Running: server at %1")
                                 : PlaygroundPanel::tr("Connecting to the server at %1");
  text = text.arg(QString::fromStdString(running->server_address()));
  if (!stats.problem.empty()) {
    text += PlaygroundPanel::tr("\nLast problem: %1").arg(QString::fromStdString(stats.problem));
  }
  state->setText(text);
}

void PlaygroundPanel::Impl::show_state() {
  const bool is_running = running != nullptr;
  form->set_running(is_running || busy);
  button->setEnabled(!busy);
  button->setText(is_running ? PlaygroundPanel::tr("&Stop") : PlaygroundPanel::tr("&Start"));
  button->setToolTip(
      is_running ? PlaygroundPanel::tr("End the server and its load")
                 : PlaygroundPanel::tr("Start a server and a load in this process, on loopback"));
  if (busy) {
    state->setText(ending ? PlaygroundPanel::tr("Stopping …") : PlaygroundPanel::tr("Starting …"));
  } else if (!is_running) {
    state->setText(PlaygroundPanel::tr("Not running"));
    force->clear();
    // Totals stay; values of the moment are cleared.
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (kCounters[i].momentary) counters[i]->setText(QStringLiteral("–"));
    }
  }
  if (is_running && !busy) {
    timer.start();
    since.invalidate();
    show_counters();
  } else {
    timer.stop();
  }
}

void PlaygroundPanel::Impl::show_force(const playground::Faults& faults) const {
  const std::string text = playground::to_text(faults);
  force->setText(
      text.empty() ? PlaygroundPanel::tr("No faults")
                   : PlaygroundPanel::tr("Faults in force: %1").arg(QString::fromStdString(text)));
}

bool PlaygroundPanel::Impl::show_preset() {
  const Preset* const now = form->preset();
  for (std::size_t i = 0; i < presets.size(); ++i) {
    const bool is_now = now == &gui::presets()[i];
    presets[i]->setChecked(is_now);
    presets[i]->setIcon(is_now ? icon("check") : QIcon());
  }
  const QString what = form->short_title();
  QString text =
      what.isEmpty() ? PlaygroundPanel::tr("Trial") : PlaygroundPanel::tr("Trial, %1").arg(what);
  return std::exchange(title, std::move(text)) != title;
}

PlaygroundPanel::PlaygroundPanel(QWidget* parent)
    : QWidget(parent), impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.form = new PlaygroundForm;
  auto* scroll = new QScrollArea(this);
  scroll->setAccessibleName(tr("Settings of the playground"));
  scroll->setWidget(m.form);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setMinimumWidth(m.form->minimumSizeHint().width() +
                          scroll->style()->pixelMetric(QStyle::PM_ScrollBarExtent));
  m.note = new Note(this);
  m.note->setObjectName("note");
  m.state = new QLabel(this);
  m.state->setObjectName("state");
  m.force = new QLabel(this);
  m.force->setObjectName("force");
  for (QLabel* label : {m.state, m.force}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
  }
  m.button = new QPushButton(this);
  m.button->setObjectName("start");
  auto* grid = new QGridLayout;
  int place = 0;
  for (const Counter& counter : kCounters) {
    auto* name = new QLabel(tr(counter.name), this);
    auto* value = new QLabel(QStringLiteral("–"), this);
    value->setObjectName(counter.object);
    value->setAccessibleName(tr(counter.name));
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    value->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("100,000")));
    const int column = place % kFigureColumns * 3;
    grid->addWidget(name, place / kFigureColumns, column);
    grid->addWidget(value, place / kFigureColumns, column + 1);
    ++place;
    m.counters.push_back(value);
  }
  grid->setColumnMinimumWidth(2, fontMetrics().averageCharWidth() * 3);
  grid->setColumnStretch(1, 1);
  grid->setColumnStretch(4, 1);
  auto* row = new QHBoxLayout;
  row->addWidget(m.state, 1);
  row->addWidget(m.button, 0, Qt::AlignTop);
  auto* layout = new QVBoxLayout(this);
  auto* heading = new QLabel(tr("Try it: a server and a load in this window"), this);
  QFont semibold = heading->font();
  semibold.setWeight(QFont::DemiBold);
  heading->setFont(semibold);
  heading->setWordWrap(true);
  auto* choices = new QGridLayout;
  choices->setSpacing(6);
  for (const Preset& preset : presets()) {
    auto* choice = new QPushButton(preset_title(preset), this);
    choice->setObjectName(QString("preset-") + preset.name);
    choice->setCheckable(true);
    choice->setToolTip(preset_tip(preset));
    choice->setAccessibleDescription(preset_tip(preset));
    const int at = static_cast<int>(m.presets.size());
    choices->addWidget(choice, at / 3, at % 3);
    m.presets.push_back(choice);
    connect(choice, &QPushButton::clicked, this, [this, name = preset.name] { use(name); });
  }
  layout->addWidget(heading);
  layout->addLayout(choices);
  layout->addWidget(scroll, 1);
  layout->addWidget(m.note);
  layout->addWidget(m.force);
  layout->addLayout(row);
  layout->addLayout(grid);
  setFocusProxy(m.button);

  m.timer.setInterval(kShowEach);
  connect(&m.timer, &QTimer::timeout, this, [this] {
    if (isVisible()) impl_->show_counters();
  });
  connect(m.button, &QPushButton::clicked, this, [this] { running() ? stop() : start(); });
  connect(m.form, &PlaygroundForm::faults_changed, this, [this] {
    if (!running()) return;
    const playground::Faults faults = impl_->form->faults();
    const auto done = impl_->running->set_faults(faults);
    impl_->take(done);
    if (done) impl_->show_force(faults);
  });
  connect(m.form, &PlaygroundForm::load_changed, this, [this] {
    if (running()) impl_->take(impl_->running->set_load(impl_->form->load()));
  });
  connect(m.form, &PlaygroundForm::grant_changed, this, [this] {
    if (running()) impl_->take(impl_->running->set_granted(impl_->form->granted()));
  });
  const auto note_settings = [this] {
    if (impl_->show_preset()) Q_EMIT title_changed();
  };
  connect(m.form, &PlaygroundForm::faults_changed, this, note_settings);
  connect(m.form, &PlaygroundForm::load_changed, this, note_settings);
  connect(m.form, &PlaygroundForm::grant_changed, this, note_settings);
  m.show_preset();
  m.show_state();
}

PlaygroundPanel::~PlaygroundPanel() = default;

bool PlaygroundPanel::running() const {
  return impl_->running != nullptr && !impl_->busy;
}

QStringList PlaygroundPanel::endpoints() const {
  if (!running()) return {};
  return {QString::fromStdString(impl_->running->server_endpoint()),
          QString::fromStdString(impl_->running->load_endpoint())};
}

QString PlaygroundPanel::title() const {
  return impl_->title;
}

void PlaygroundPanel::use(const QString& preset) {
  const Preset* const found = find_preset(preset);
  if (found == nullptr) return;
  impl_->form->use(*found);
  if (impl_->show_preset()) Q_EMIT title_changed();
  start();
}

void PlaygroundPanel::start() {
  if (impl_->busy || impl_->running != nullptr) return;
  impl_->busy = true;
  impl_->note->say({});
  impl_->show_state();
  const playground::PlaygroundOptions options = impl_->form->options();
  QtConcurrent::run([options] {
    return std::make_shared<Started>(Playground::start(options));
  }).then(this, [this, options](const std::shared_ptr<Started>& result) {
    impl_->busy = false;
    if (!*result) {
      impl_->note->say(QString::fromStdString(result->error().message));
      return impl_->show_state();
    }
    impl_->running = std::move(**result);
    impl_->calls = 0;
    impl_->show_state();
    impl_->show_force(options.faults);
    // Apply what was changed during the start.
    impl_->form->faults_changed();
    impl_->form->load_changed();
    impl_->form->grant_changed();
    Q_EMIT started(endpoints());
  });
}

void PlaygroundPanel::stop() {
  if (!running()) return;
  impl_->show_counters();
  // Its ends disconnect in a moment, or after a time limit of a second.
  const std::shared_ptr<Playground> ending(std::move(impl_->running));
  impl_->busy = impl_->ending = true;
  impl_->show_state();
  QtConcurrent::run([ending] { ending->stop(); }).then(this, [this] {
    impl_->busy = impl_->ending = false;
    impl_->show_state();
    Q_EMIT stopped();
  });
}

}  // namespace rpcrdma::gui
