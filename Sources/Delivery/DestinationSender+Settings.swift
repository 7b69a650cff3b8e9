import SLS
import System

extension DestinationSender {
    /// Goes on with other settings. Requests that are in flight end as they began; what they say about
    /// gates is not heard any more, because it was said about something else.
    func reconfigure(_ new: SLSOutput, _ states: EndpointStates, _ now: Moment) {
        let (old, oldTotal) = (settings, places.total)
        output = new
        settings = new.settings
        places.set(total: 2 * settings.concurrency)
        if settings.endpoints == old.endpoints, settings.proxy == old.proxy {
            endpoints.resize(from: oldTotal, to: places.total)
        } else {
            takeEndpoints(states, letGo: oldTotal)
        }
        takeQuota(states.quotas, letGo: oldTotal)
        for endpoint in endpoints.endpoints { endpoint.gate.reopen(now) }
        // What was learned of its pace holds.
        quota.gate.reopen(now)
        project.widen(to: places.total)
        project.reopen(now)
        pause = nil
        for outlet in outlets.values { renew(outlet, now) }
        if settings.credential != old.credential { access = CredentialAccess(settings.credential) }
        renewTransfers(after: old, now)
        status.withLock { $0.project = settings.project }
    }

    private func takeEndpoints(_ states: EndpointStates, letGo oldTotal: Int) {
        let old = endpoints
        // The new ones before the old ones are let go of, so that those in both keep what they know.
        endpoints = DestinationEndpoints(settings, states, places: places.total)
        states.release(old, places: oldTotal)
        for endpoint in old.endpoints {
            for outlet in outlets.values { endpoint.forget(outlet.name) }
        }
        status.withLock { status in
            status.endpoints = settings.endpoints.map(\.description)
            status.endpoint = settings.endpoint.description
            status.endpointReason = nil
        }
    }

    /// What is known of a quota holds as long as the project is the same.
    private func takeQuota(_ quotas: ProjectQuotas, letGo oldTotal: Int) {
        let old = quota
        quota = quotas.quota(for: settings, places: places.total)
        quotas.release(old, places: oldTotal)
    }

    private func renew(_ outlet: DeliveryOutlet, _ now: Moment) {
        outlet.gate.widen(to: settings.concurrency)
        outlet.gate.reopen(now)
        outlet.pause = nil
        // That packets were stored with the old settings proves nothing about the new ones.
        outlet.evidence.forget()
        turns.rouse(outlet)
        touch(outlet)
    }

    /// New requests need handles of their own, and connections that lead and trust as the settings say.
    private func renewTransfers(after old: DestinationSettings, _ now: Moment) {
        idle = []
        generation += 1
        let file = settings.certificateAuthorities
        // A file of the same name may have another content.
        if file != nil || file != old.certificateAuthorities || settings.proxy != old.proxy {
            connectionsSince = now
        }
    }
}
