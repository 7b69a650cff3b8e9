import Crypto
import Net
import SLS

extension AdminSettings {
    private static let defaultListen = ListenAddress(host: "127.0.0.1", port: 8081)
    static let listenSource = Override(option: "--admin-listen", variable: "SLUICE_ADMIN_LISTEN")
    private static let tokenVariable = "SLUICE_ADMIN_TOKEN"
    private static let fileVariable = "SLUICE_ADMIN_TOKEN_FILE"

    static func read(_ section: consuming Section) -> AdminSettings {
        let report = section.report
        let listen = section.value("listen", .listenAddress, listenSource)
        let token = section.value(
            "token",
            .secret(bytesMin: AdminToken.bytesMin),
            Override(variable: tokenVariable)
        )
        let variables = [tokenVariable, fileVariable].filter { report.inputs.variable($0) != nil }
        if variables.count == 2 {
            report.add(.environment(fileVariable), "\(tokenVariable) is set too; set one of them")
        }
        let fromFile = variables.contains(fileVariable) ? tokenFromFile(report) : nil
        let isTokenGiven = section.has("token") || !variables.isEmpty
        let address = listen ?? defaultListen
        if !address.isLoopback, !isTokenGiven {
            section.problem(
                "listen",
                "\(address) can be reached from other machines, so it wants a token of yours: set "
                    + "admin.token, \(tokenVariable) or \(fileVariable), or listen on 127.0.0.1"
            )
        }
        let named = readTokens(section.section("tokens"))
        let tls = TLSSettings.read(section.section("tls"))
        let client = ClientSettings.read(section.section("client"))
        section.refuseOthers()
        return AdminSettings(
            listen: address,
            token: variables == [fileVariable] ? fromFile : token,
            tokens: named,
            tls: tls,
            client: client
        )
    }

    private static func readTokens(_ section: consuming Section) -> [NamedToken] {
        var tokens: [NamedToken] = []
        if section.names.count > AdminKeys.namedMax {
            section.report.add(
                section.place(of: section.names[AdminKeys.namedMax]),
                key: section.path,
                "has \(section.names.count) tokens; give at most \(AdminKeys.namedMax)"
            )
        }
        for name in section.names {
            var one = section.section(name)
            if name == AdminKeys.mainName {
                one.problem("token", "the name \(name) belongs to admin.token; choose another")
            }
            let secret = one.value("token", .secret(bytesMin: AdminToken.bytesMin))
            let role = one.value("role", .choice(["read": AdminRole.read, "full": .full])) ?? .read
            if !one.has("token") { one.problem("token", "is missing") }
            one.refuseOthers()
            if let secret { tokens.append(NamedToken(name: name, secret: secret, role: role)) }
        }
        section.refuseOthers()
        return tokens
    }

    private static func tokenFromFile(_ report: ProblemReport) -> Secret? {
        let path = report.inputs.variable(fileVariable) ?? ""
        do throws(Mismatch) {
            let text = try Substitution(environment: [:]).apply(to: "${file:\(path)}")
            return try Kind<Secret>.secret(bytesMin: AdminToken.bytesMin).parse(text)
        } catch {
            report.add(.environment(fileVariable), error.reason)
            return nil
        }
    }
}
