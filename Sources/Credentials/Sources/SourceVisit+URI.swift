import Crypto
import HTTPClient
import SLS
import System

extension SourceVisit {
    func read(_ source: URISource) throws(SourceProblem) -> SuppliedCredential {
        let given =
            source.uri
            ?? surroundings.variable("ALIBABA_CLOUD_CREDENTIALS_URI").map {
                Secret($0)
            }
        guard let uri = given else {
            throw SourceProblem(
                .permanent,
                "there is no URI for the credential",
                remedy: "set uri, or ALIBABA_CLOUD_CREDENTIALS_URI"
            )
        }
        guard let place = Self.shownPlace(uri) else {
            throw SourceProblem(
                .permanent,
                "the credential's URI cannot be used",
                remedy: "write it with http:// or https:// and in plain ASCII"
            )
        }
        var request = WebRequest(url: uri.revealed, limits: source.limits)
        request.resolvers = source.resolvers
        let answer = try answer(to: request, from: place)
        guard answer.status == 200 else {
            throw SourceProblem(
                (400..<500).contains(answer.status) && ![408, 429].contains(answer.status)
                    ? .permanent : .temporary,
                "\(place) gives no credential",
                remedy: "check uri, and the service behind it",
                words: ServerWords(status: answer.status)
            )
        }
        let document = CredentialDocument(json: answer.body.bytes)
        if let code = document?.code, code != "Success" {
            throw SourceProblem(
                .temporary,
                "\(place) gives no credential",
                remedy: "check the service behind uri",
                words: ServerWords(status: answer.status, code: code)
            )
        }
        return try supplied(document, answer, place, place)
    }

    /// Shows scheme, host and port only: path, query and user information may contain a key.
    static func shownPlace(_ uri: Secret) -> String? {
        let text = uri.revealed
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
            let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) })
        else { return nil }
        let authority = text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@").last ?? ""
        return host.isEmpty ? nil : "\(scheme)\(host)"
    }
}
