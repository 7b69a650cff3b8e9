import Credentials

extension MetricsPage {
    mutating func credentials(_ credentials: [CredentialStatus]) {
        family("sluice_credential_state", .gauge, "1 for the state that the credential is in.") {
            for each in credentials {
                for state in CredentialStatus.State.allCases {
                    $0.add(
                        each.state == state,
                        ["credential": each.name, "state": state.rawValue]
                    )
                }
            }
        }
        family(
            "sluice_credential_seconds_left",
            .gauge,
            "Seconds until the credential expires; negative after that, absent without an end."
        ) {
            for each in credentials {
                guard let left = each.secondsLeft else { continue }
                $0.add(Int(left), ["credential": each.name])
            }
        }
        family(
            "sluice_credential_failures",
            .gauge,
            "Failures of its source since it last worked."
        ) {
            for each in credentials { $0.add(each.failures, ["credential": each.name]) }
        }
    }
}
