import SLS
import System

/// Refused credentials that the other destinations of the same credential still have to be told of.
final class CredentialRefusals {
    struct Refusal {
        let destination: String
        let name: String
        let credential: Credential
        let failure: DeliveryFailure
        /// The code does not say if the credential or the logstore is refused.
        let isUndecided: Bool
    }

    private var untold: [Refusal] = []

    func add(_ refusal: Refusal) { untold.append(refusal) }

    func takeAll() -> [Refusal] {
        guard !untold.isEmpty else { return [] }
        defer { untold = [] }
        return untold
    }
}

extension DestinationSender {
    /// An unknown code does not say if the credential or the logstore is refused. While packets of other logstores are
    /// stored with the credential, only the logstore is.
    func narrowed(_ judgement: Judgement, by credential: Credential, _ now: Moment) -> Judgement {
        guard judgement.isOfUnknownUnauthorized, standing.isGoodElsewhere(credential, now) else {
            return judgement
        }
        var judgement = judgement
        judgement.action = .pause(.logstore)
        return judgement
    }

    /// Reports a credential that is refused, or accepted again, when that is news.
    func tellVerdict(
        _ judgement: Judgement,
        _ failure: DeliveryFailure?,
        _ load: Load,
        _ now: Moment
    ) {
        let credential = load.credential
        if judgement.isOfCredential {
            guard standing.refused(credential, now) else { return }
            surroundings.credentials.refused(settings.credential, credential)
            guard let failure else { return }
            refusals.add(
                .init(
                    destination: settings.name,
                    name: settings.credential,
                    credential: credential,
                    failure: failure,
                    isUndecided: judgement.isOfUnknownUnauthorized
                )
            )
        } else if judgement.action == .acknowledge,
            standing.stored(credential, sent: load.started, now)
        {
            surroundings.credentials.accepted(settings.credential)
        }
    }

    /// Pauses this destination when its credential was refused to another one. A single request then tries it here.
    func heed(_ refusal: CredentialRefusals.Refusal, _ now: Moment) {
        guard refusal.destination != settings.name, refusal.name == settings.credential,
            project.probing == nil,
            surroundings.credentials.credential(settings.credential) == refusal.credential
        else { return }
        agenda.note(self)
        let bounds = project.bounds
        let longestWait = refusal.isUndecided ? bounds.longestWaitUndecided : bounds.longestWait
        project.pause(longestWait, now, random: .random(in: 0...1))
        let cause = Pause(failure: refusal.failure, scope: .project)
        pause = cause
        countPause(cause)
        guard let notice = notices.failed(refusal.failure.kind, now) else { return }
        tell(
            refusal.failure,
            "destination is paused: its credential was refused to another one",
            notice: notice
        )
    }
}

extension Judgement {
    /// SLS refuses the credential itself, wherever it is used.
    var isOfCredential: Bool { kind == .unauthorized && action == .pause(.project) }

    /// SLS refuses the credential with a code that the table does not have.
    var isOfUnknownUnauthorized: Bool {
        isOfCredential && code.flatMap(ErrorCode.known) == nil
    }
}
