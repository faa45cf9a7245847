#include "fleet_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>

#include <rpcrdma/icons/icons.h>

namespace rpcrdma::gui {

FleetDialog::FleetDialog(const FleetAddress& first, QWidget* parent)
    : QDialog(parent), form_(new QFormLayout(this)), problem_(new QLabel(this)) {
  setWindowTitle(tr("Open a fleet"));
  setMinimumWidth(520);
  add("url", tr("&URL of the bus:"),
      first.url.isEmpty() ? QStringLiteral("nats://localhost:4222") : first.url,
      "nats://host:4222, tls://host:4222", false);
  add("user", tr("U&ser:"), first.user, tr("if the bus asks for one"), false);
  add("password-file", tr("&Password file:"), first.password_file,
      tr("a file with the user's password"), true);
  add("nkey-file", tr("&Nkey file:"), first.nkey_file, tr("or a file with the seed of an nkey"),
      true);
  add("ca", tr("&CA file:"), first.ca, tr("PEM; empty: the system's CAs"), true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->setWordWrap(true);
  problem_->setObjectName("fleet-dialog-problem");
  form_->addRow(problem_);
  buttons_ = new QDialogButtonBox(QDialogButtonBox::Open | QDialogButtonBox::Cancel, this);
  form_->addRow(buttons_);
  connect(buttons_, &QDialogButtonBox::accepted, this, [this] {
    Q_EMIT wanted(address());
    accept();
  });
  connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
  check();
}

QLineEdit* FleetDialog::add(const QString& name, const QString& title, const QString& value,
                            const QString& hint, bool is_file) {
  auto* const line = new QLineEdit(value, this);
  line->setObjectName(name);
  line->setPlaceholderText(hint);
  line->setToolTip(hint);
  line->setAccessibleName(QString(title).remove('&').remove(':'));
  connect(line, &QLineEdit::textChanged, this, &FleetDialog::check);
  if (!is_file) {
    form_->addRow(title, line);
    return line;
  }
  auto* const both = new QWidget(this);
  auto* const row = new QHBoxLayout(both);
  row->setContentsMargins(0, 0, 0, 0);
  auto* const browse = new QToolButton(both);
  browse->setIcon(icon("open"));
  browse->setToolTip(tr("Choose a file"));
  browse->setAccessibleName(tr("Choose: %1").arg(line->accessibleName()));
  connect(browse, &QToolButton::clicked, this, [this, line] {
    auto* const dialog = new QFileDialog(this, line->accessibleName());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, line, &QLineEdit::setText);
    dialog->open();
  });
  row->addWidget(line, 1);
  row->addWidget(browse);
  auto* const label = new QLabel(title, this);
  label->setBuddy(line);
  form_->addRow(label, both);
  return line;
}

QLineEdit* FleetDialog::field(const QString& name) const {
  return findChild<QLineEdit*>(name);
}

FleetAddress FleetDialog::address() const {
  const auto text = [this](const char* name) { return field(name)->text().trimmed(); };
  return {text("url"), text("user"), text("password-file"), text("nkey-file"), text("ca")};
}

// What a bus cannot accept, before it is asked.
void FleetDialog::check() {
  if (buttons_ == nullptr) return;
  const FleetAddress a = address();
  QString problem;
  if (a.url.isEmpty()) problem = tr("A URL is needed");
  if (a.user.isEmpty() != a.password_file.isEmpty()) {
    problem = tr("A user and a password file belong together");
  }
  if (!a.user.isEmpty() && !a.nkey_file.isEmpty()) {
    problem = tr("Either a user or an nkey, not both");
  }
  problem_->setText(problem);
  buttons_->button(QDialogButtonBox::Open)->setEnabled(problem.isEmpty());
}

}  // namespace rpcrdma::gui
