// rpcrdma-gui: the window.
#include "main_window.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <QLocale>
#include <QSettings>
#include <csignal>
#include <cstdio>
#include <string_view>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/gui_text/translation.h>
#include <rpcrdma/sources/endpoint_list.h>
#include <rpcrdma/version/version.h>

namespace {

void complain(const QString& text) {
  std::fprintf(stderr, "rpcrdma-gui: %s\n", qPrintable(rpcrdma::gui::one_line(text)));
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
  options.addOption(attach);
  options.addOption(no_icrc);
  options.addOption(filter);
  // process() would print the error with the raw, possibly hostile, names in it.
  if (!options.parse(QCoreApplication::arguments())) {
    complain(options.errorText());
    return 2;
  }
  options.process(app);  // --help, --version
  QSettings settings;
  rpcrdma::gui::MainWindow window(settings);
  if (options.isSet(no_icrc)) window.ignore_icrcs();
  window.show();
  if (options.isSet(attach)) {
    window.attach(options.values(attach));
  } else if (!options.positionalArguments().isEmpty()) {
    window.open(options.positionalArguments());
  }
  const bool asked = options.isSet(attach) || !options.positionalArguments().isEmpty();
  if (asked && window.document().is_empty() && !window.endpoints().starts_kernel()) {
    complain(window.message());
    return 2;
  }
  // Some of several endpoints could not be attached to.
  if (options.isSet(attach) && !window.message().isEmpty()) complain(window.message());
  if (options.isSet(filter)) {
    rpcrdma::filter::FilterError error;
    if (!window.document().set_filter(options.value(filter), &error)) {
      std::fprintf(stderr, "rpcrdma-gui: --filter: %s\n",
                   rpcrdma::filter::explain(options.value(filter).toStdString(), error).c_str());
      return 2;
    }
  }
  return QApplication::exec();
}
