import System

/// `sluice completion …`: scripts with which shells complete commands, made of the commands' help.
enum Completion {
    static func run(_ arguments: Arguments) throws(UsageError) -> CInt {
        guard let shell = arguments.words.first else {
            throw UsageError("completion needs a value: sluice completion bash|zsh|fish")
        }
        switch shell {
        case "bash": Terminal.say(bash)
        case "zsh": Terminal.say(zsh)
        case "fish": Terminal.say(fish)
        default: throw .unknown("shell", shell, among: ["bash", "zsh", "fish"])
        }
        return ExitCode.fine
    }

    /// As one word of any of the shells.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "'\\''"))'"
    }

    private static func action(
        for candidates: [String],
        files: String,
        directories: String,
        words: (String) -> String
    ) -> String {
        if candidates.contains("FILE") { return files }
        if candidates.contains("DIR") { return directories }
        return candidates.isEmpty ? "" : words(candidates.joined(separator: " "))
    }

    // MARK: - bash

    static var bash: String {
        #"""
        # bash completion for sluice, printed by `sluice completion bash`.

        # Sets `words` or `paths` to the candidates for a place: "COMMAND --option" for the option's value,
        # "COMMAND 0" for the command's first word, "COMMAND -" for its options. Fails for an option without a value.
        _sluice_place() {
            words='' paths=''
            case $1 in
            ' 0') words='\#(Command.all.map(\.name).joined(separator: " ")) --version' ;;
        \#(Command.all.flatMap(bashPlaces).joined(separator: "\n"))
            *) return 1 ;;
            esac
        }

        _sluice() {
            local word=${COMP_WORDS[COMP_CWORD]} command='' option='' count=0 at words paths
            for at in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
                # bash makes three words of `--option=value`.
                if [[ $at == = ]]; then continue
                elif [[ $option ]] && _sluice_place "$command $option"; then option=''
                elif [[ $at == -* ]]; then option=$at
                elif [[ $command ]]; then option='' count=$((count + 1))
                else command=$at; fi
            done
            if [[ $word == = ]]; then word=''; fi
            if [[ ! $option ]] || ! _sluice_place "$command $option"; then
                if [[ $command && $word == -* ]]; then count=-; fi
                _sluice_place "$command $count"
            fi
            mapfile -t COMPREPLY < <(compgen $paths -W "$words" -- "$word")
            if [[ $paths ]]; then compopt -o filenames 2>/dev/null; fi
        }

        complete -F _sluice sluice
        """#
    }

    private static func bashPlaces(_ command: Command) -> [String] {
        let options = command.options
        let all = [("-", options.map(\.name) + ["--help"])]
        let values = options.filter(\.takesWord).map { ($0.name, $0.candidates) }
        let words = command.places.enumerated().map { ("\($0)", $1) }
        return (all + values + words).map { place, candidates in
            let found = action(for: candidates, files: " paths=-f", directories: " paths=-d") {
                " words='\($0)'"
            }
            return "    '\(command.name) \(place)')\(found) ;;"
        }
    }

    // MARK: - zsh

    static var zsh: String {
        let names = Command.all.map { quoted("\($0.name):\(Help.of($0).summary)") }
        return #"""
            #compdef sluice
            # zsh completion for sluice, printed by `sluice completion zsh`.

            _sluice() {
                if (( CURRENT == 2 )); then
                    local -a commands=('--version:print the version' \#(names.joined(separator: " ")))
                    _describe command commands
                    return
                fi
                shift words
                (( CURRENT-- ))
                case $words[1] in
            \#(Command.all.map(zshArguments).joined(separator: "\n"))
                esac
            }

            # As a file of $fpath this is the function's body.
            if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
            """#
    }

    private static func zshArguments(_ command: Command) -> String {
        let options = command.options.map { option in
            let help = option.text.replacing("[", with: "\\[").replacing("]", with: "\\]")
            // A message; an empty one would make the value optional.
            let value = ": \(option.value.filter(\.isUppercase)):\(zshAction(option.candidates))"
            return option.takesWord
                ? "\(option.value.hasSuffix("…") ? "*" : "")\(option.name)=[\(help)]\(value)"
                : "\(option.name)\(option.value.isEmpty ? "[\(help)]" : "=-[\(help)]:\(value)")"
        }
        let words = command.places.enumerated().map { "\($0 + 1): :\(zshAction($1))" }
        let all = (options + ["--help[describe the command]"] + words).map(quoted)
        return "    \(command.name)) _arguments \(all.joined(separator: " ")) ;;"
    }

    private static func zshAction(_ candidates: [String]) -> String {
        let action = action(for: candidates, files: "_files", directories: "_files -/") {
            "(\($0))"
        }
        return action.isEmpty ? " " : action
    }

    // MARK: - fish

    static var fish: String {
        let valued = Set(Command.all.flatMap(\.options).filter(\.takesWord).map(\.name)).sorted()
        return #"""
            # fish completion for sluice, printed by `sluice completion fish`.

            # True if the line has the command $argv[1], and so far $argv[2] words behind it besides options.
            function __sluice_at
                set -l words (commandline -opc)[2..]
                test "$words[1]" = "$argv[1]"; or return
                set -q argv[2]; or return 0
                set -l others
                set -l option
                for word in $words[2..]
                    if contains -- "$option" \#(valued.joined(separator: " "))
                        set option
                    else if string match -q -- '-*' $word
                        set option $word
                    else
                        set -a others $word
                        set option
                    end
                end
                test (count $others) = $argv[2]
            end

            complete -c sluice -f
            complete -c sluice -n '__sluice_at ""' -l version -d 'print the version'
            \#(Command.all.flatMap(fishLines).joined(separator: "\n"))
            """#
    }

    private static func fishLines(_ command: Command) -> [String] {
        let start = "complete -c sluice -n '__sluice_at"
        let (name, summary) = (command.name, quoted(Help.of(command).summary))
        let options = command.options.map { option in
            let value = option.takesWord ? " -x" + fishAction(option.candidates) : ""
            return
                "\(start) \(name)' -l \(option.name.dropFirst(2))\(value) -d \(quoted(option.text))"
        }
        let places = command.places.enumerated().filter { !$0.element.isEmpty }
        let words = places.map { "\(start) \(name) \($0)'\(fishAction($1))" }
        return ["\(start) \"\"' -a \(name) -d \(summary)"] + options
            + ["\(start) \(name)' -l help -d 'describe the command'"] + words
    }

    private static func fishAction(_ candidates: [String]) -> String {
        let (files, directories) = ("__fish_complete_path", "__fish_complete_directories")
        let action = action(for: candidates, files: "(\(files))", directories: "(\(directories))") {
            $0
        }
        return action.isEmpty ? "" : " -a '\(action)'"
    }
}
