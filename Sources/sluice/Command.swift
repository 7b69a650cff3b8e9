import Gateway

/// What `sluice` can be told to do.
enum Command: String, CaseIterable {
    case serve, check, sandbox

    init(named word: String) throws(UsageError) {
        guard let command = Command(rawValue: word) else {
            let names = Self.allCases.map(\.rawValue) + ["help"]
            throw UsageError.unknown("command", word, among: names, hint: "sluice help")
        }
        self = command
    }

    /// Its options with what their value is called in the help; nil for those without one.
    var options: KeyValuePairs<String, String?> {
        let configuration: KeyValuePairs<String, String?> = [
            "--config": "FILE", "--listen": "ADDRESS", "--admin-listen": "ADDRESS",
            "--data-dir": "DIR", "--log-level": "LEVEL", "--sandbox": nil,
        ]
        return switch self {
        case .serve, .check: configuration
        case .sandbox: ["--listen": "ADDRESS", "--storage": "FILE"]
        }
    }

    func run(_ arguments: Arguments) -> CInt {
        switch self {
        case .serve: Service(arguments.inputs).run()
        case .check: Check(arguments.inputs).run()
        case .sandbox:
            SandboxService(
                listen: arguments.values["--listen"],
                storage: arguments.values["--storage"],
                environment: environmentVariables()
            ).run()
        }
    }
}

extension Arguments {
    fileprivate var inputs: ConfigurationInputs {
        var settings = values
        let file = settings.removeValue(forKey: "--config")
        return ConfigurationInputs(
            file: file,
            options: settings,
            environment: environmentVariables(),
            isSandboxed: flags.contains("--sandbox")
        )
    }
}
