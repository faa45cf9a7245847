// rpcrdma completion: prints completion scripts for shells.
#include "commands.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace rpcrdma::cli {

namespace {

// Each script asks the program itself (`rpcrdma complete WORD...`) for the completions at the
// cursor, so it never falls behind the program.
constexpr const char* kBash = R"sh(# Completion of rpcrdma for bash.
_rpcrdma() {
  local line word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  [ "$word" != = ] || word=
  while IFS= read -r line; do
    case $line in
      :files)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
        ;;
      :directories)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$word")
        ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _rpcrdma rpcrdma
)sh";

constexpr const char* kZsh = R"sh(#compdef rpcrdma
# Completion of rpcrdma for zsh.
_rpcrdma() {
  local line tab=$'\t'
  local -a found
  for line in "${(@f)$("${words[1]}" complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      :directories) _files -/ ;;
      *$tab*) found+=("${${line%%$tab*}//:/\\:}:${line#*$tab}") ;;
      *) found+=("${line//:/\\:}") ;;
    esac
  done
  (( $#found == 0 )) || _describe rpcrdma found
}
if [[ ${funcstack[1]-} == _rpcrdma ]]; then
  _rpcrdma "$@"
else
  compdef _rpcrdma rpcrdma
fi
)sh";

constexpr const char* kFish = R"sh(# Completion of rpcrdma for fish.
function __rpcrdma_complete
  set -l words (commandline -opc)
  set -l word (commandline -ct)
  for line in ($words[1] complete $words[2..] "$word" 2>/dev/null)
    switch $line
      case ':files'
        __fish_complete_path "$word"
      case ':directories'
        __fish_complete_directories "$word"
      case '*'
        echo $line
    end
  end
end
complete -c rpcrdma -f -a '(__rpcrdma_complete)'
)sh";

struct Script {
  const char* shell;
  const char* text;
};
constexpr std::array<Script, 3> kScripts{{{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

int completion(const std::string& shell) {
  for (const Script& script : kScripts) {
    if (shell == script.shell) std::fputs(script.text, stdout);
  }
  return kOk;
}

}  // namespace

Run add_completion(command_line::Command& command) {
  auto shell = std::make_shared<std::string>();
  command.argument("SHELL", *shell, "Shell to print the script for")
      .required()
      .one_of({"bash", "zsh", "fish"});
  command.footer(
      "bash: source <(rpcrdma completion bash)\n"
      "zsh: source <(rpcrdma completion zsh)\n"
      "fish: rpcrdma completion fish | source");
  command.example("rpcrdma completion fish | source", "Enable completion in this fish session.");
  return [shell] { return completion(*shell); };
}

}  // namespace rpcrdma::cli
