// rpcrdma-gui: the window.
#include "fleet_address.h"
#include "main_window.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <QLocale>
#include <QSettings>
#include <csignal>
#include <cstdio>
#include <string_view>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/gui_text/translation.h>
#include <rpcrdma/version/version.h>

namespace {

void complain(const QString& text) {
  std::fprintf(stderr, "rpcrdma-gui: %s\n", qPrintable(rpcrdma::gui::one_line(text)));
}

bool check_filter(const QString& text) {
  const auto made = rpcrdma::filter::compile(text.toStdString());
  if (made) return true;
  std::fprintf(stderr, "rpcrdma-gui: --filter: %s\n",
               rpcrdma::filter::explain(text.toStdString(), made.error()).c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  // A write beyond a file size limit (ulimit -f) becomes an error, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  // Help and version need no display.
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool asks = word == "-h" || word == "--help" || word == "-v" || word == "--version";
    if (asks && qgetenv("QT_QPA_PLATFORM").isEmpty()) qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  const QApplication app(argc, argv);
  QCoreApplication::setApplicationName("rpcrdma-gui");
  QCoreApplication::setOrganizationName("rpcrdma");
  const std::string_view version = rpcrdma::version::text();
  QCoreApplication::setApplicationVersion(
      QString::fromUtf8(version.data(), static_cast<qsizetype>(version.size())));
  rpcrdma::gui::load_translation(QLocale(), rpcrdma::gui::translation_folders());
  QApplication::setWindowIcon(QIcon(":/rpcrdma-gui.svg"));
  QCommandLineParser options;
  options.setApplicationDescription(
      "Shows RPC-over-RDMA traffic in captures, recordings and running endpoints.");
  options.addHelpOption();
  options.addVersionOption();
  options.addPositionalArgument("FILE",
                                "Captures or recordings, merged in order of time; - for standard "
                                "input",
                                "[FILE...]");
  const QCommandLineOption attach({"a", "attach"},
                                  "Attaches to this running endpoint; may be given "
                                  "more than once",
                                  "ENDPOINT");
  const QCommandLineOption filter({"Y", "filter"}, "Shows only the messages that match", "FILTER");
  const QCommandLineOption no_icrc("no-icrc", "Accepts packets whatever their ICRC");
  const QCommandLineOption fleet("fleet", "Shows the fleet whose agents publish on this bus",
                                 "URL");
  const QCommandLineOption user("user", "User of the bus", "NAME");
  const QCommandLineOption password("password-file", "File with the user's password", "FILE");
  const QCommandLineOption nkey("nkey", "File with the seed of an nkey", "FILE");
  const QCommandLineOption ca("tls-ca", "PEM file with the CAs of the bus", "FILE");
  for (const QCommandLineOption& o : {fleet, user, password, nkey, ca}) options.addOption(o);
  options.addOption(attach);
  options.addOption(no_icrc);
  options.addOption(filter);
  // process() would print the error with the raw, possibly hostile, names in it.
  if (!options.parse(QCoreApplication::arguments())) {
    complain(options.errorText());
    return 2;
  }
  options.process(app);  // --help, --version
  if (options.isSet(filter) && !check_filter(options.value(filter))) return 2;
  QSettings settings;
  rpcrdma::gui::MainWindow window(settings);
  if (options.isSet(no_icrc)) window.ignore_icrcs();
  window.show();
  const QStringList files = options.positionalArguments();
  const bool asked = options.isSet(attach) || !files.isEmpty();
  if (options.isSet(fleet)) {
    window.open_fleet({options.value(fleet), options.value(user), options.value(password),
                       options.value(nkey), options.value(ca)});
    if (!asked && !window.message().isEmpty()) {
      complain(window.message());
      return 2;
    }
  }
  if (options.isSet(attach)) {
    window.attach(options.values(attach));
  } else if (!files.isEmpty()) {
    window.open(files);
  }
  // The window stays, and its start page shows the reason: a file manager shows no standard error.
  if (asked && !window.message().isEmpty()) complain(window.message());
  if (options.isSet(filter)) window.use_filter(options.value(filter));
  bool opened = !window.document().is_empty();
  QObject::connect(&window.document(), &rpcrdma::gui::Document::reset,
                   [&] { opened = opened || !window.document().is_empty(); });
  const int status = QApplication::exec();
  settings.sync();
  if (settings.status() != QSettings::NoError) {
    complain(settings.fileName() + ": the settings cannot be written");
    return 2;
  }
  return status == 0 && asked && !opened ? 2 : status;
}
